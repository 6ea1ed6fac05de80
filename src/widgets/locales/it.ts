import type { Locale } from './words.ts'

/** Italian, with the informal imperative that is customary on buttons. */
export const locale: Locale = {
  dir: 'ltr',
  words: {
    boxHeading: 'Dove acquistare',
    boxName: 'Dove acquistare {title}',
    gridHeading: 'Offerte',
    toShop: 'Vai al negozio',
    linkWithPrice: 'acquista da {merchant} a {price}',
    linkWithoutPrice: 'vedi il prezzo da {merchant}',
    seePrice: 'Vedi prezzo nel negozio',
    priceNow: 'ora',
    formerPrice: 'Vecchio prezzo del negozio',
    bestPrice: 'Miglior prezzo',
    columns: { shop: 'Negozio', availability: 'Disponibilità', price: 'Prezzo', link: 'Link' },
    availability: {
      in_stock: 'Disponibile',
      out_of_stock: 'Non disponibile',
      preorder: 'In preordine',
      backorder: 'In riassortimento',
      discontinued: 'Fuori catalogo',
      other: 'Disponibilità: vedi negozio',
    },
    moreShops: {
      one: '{count} altro negozio',
      many: 'Altri {count} di negozi',
      other: 'Altri {count} negozi',
    },
    atMerchant: 'da {merchant}',
    pricesChecked: 'Ultima verifica dei prezzi: {time}.',
    shippingNotIncluded: 'Spese di spedizione escluse',
    coverage: 'Il confronto non comprende tutti i negozi.',
    boxOrder: 'Prima i disponibili, poi per prezzo',
    gridOrder: {
      discount: 'Prima gli sconti più alti',
      saving: 'Prima i risparmi maggiori',
      price: 'Prima i prezzi più bassi',
      newest: 'Prima le offerte più recenti',
    },
    disclosure: 'Pubblicità: per gli acquisti tramite questi link possiamo ricevere una commissione.',
    pages: 'Pagine delle offerte',
    previousPage: 'Pagina precedente',
    nextPage: 'Pagina successiva',
    previousDeals: 'Offerte precedenti',
    nextDeals: 'Offerte successive',
  },
}
