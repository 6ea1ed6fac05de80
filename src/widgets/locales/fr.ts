import type { Locale } from './words.ts'

/** French, without a form of address. */
export const locale: Locale = {
  dir: 'ltr',
  words: {
    boxHeading: 'Où acheter',
    boxName: 'Où acheter\u00a0: {title}',
    gridHeading: 'Bons plans',
    toShop: 'Voir l’offre',
    linkWithPrice: 'acheter chez {merchant} à {price}',
    linkWithoutPrice: 'voir le prix chez {merchant}',
    seePrice: 'Prix chez le marchand',
    priceNow: 'maintenant',
    formerPrice: 'Ancien prix du marchand',
    bestPrice: 'Meilleur prix',
    columns: { shop: 'Marchand', availability: 'Disponibilité', price: 'Prix', link: 'Lien' },
    availability: {
      in_stock: 'En stock',
      out_of_stock: 'Rupture de stock',
      preorder: 'En précommande',
      backorder: 'En réapprovisionnement',
      discontinued: 'Produit arrêté',
      other: 'Disponibilité\u00a0: voir chez le marchand',
    },
    moreShops: {
      one: '{count} autre marchand',
      many: '{count} d’autres marchands',
      other: '{count} autres marchands',
    },
    atMerchant: 'chez {merchant}',
    pricesChecked: 'Prix vérifiés le {time}.',
    shippingNotIncluded: 'Prix hors frais de livraison',
    coverage: 'La comparaison ne couvre pas tous les marchands.',
    boxOrder: 'En stock d’abord, puis par prix croissant',
    gridOrder: {
      discount: 'Remises les plus fortes d’abord',
      saving: 'Économies les plus élevées d’abord',
      price: 'Prix les plus bas d’abord',
      newest: 'Bons plans les plus récents d’abord',
    },
    disclosure: 'Publicité\u00a0: un achat via ces liens affiliés peut nous rapporter une commission.',
    pages: 'Pages de bons plans',
    previousPage: 'Page précédente',
    nextPage: 'Page suivante',
    previousDeals: 'Bons plans précédents',
    nextDeals: 'Bons plans suivants',
  },
}
