import type { Messages } from './messages.ts'

const plurals = new Intl.PluralRules('de')

/** German, without a form of address. */
export const de: Messages = {
  boxHeading: 'Preise im Vergleich',
  nameBox: (title) => `Preise im Vergleich: ${title}`,
  gridHeading: 'Angebote',
  toShop: 'Zum Shop',
  nameLinkWithPrice: ({ merchant, price }) => `bei ${merchant} für ${price} kaufen`,
  nameLinkWithoutPrice: (merchant) => `Preis bei ${merchant} ansehen`,
  seePrice: 'Preis im Shop ansehen',
  priceNow: 'jetzt',
  formerPrice: 'Bisheriger Shop-Preis',
  bestPrice: 'Bester Preis',
  availability: {
    in_stock: 'Auf Lager',
    out_of_stock: 'Nicht auf Lager',
    preorder: 'Vorbestellbar',
    backorder: 'Wird nachbestellt',
    discontinued: 'Nicht mehr im Sortiment',
    other: 'Verfügbarkeit siehe Shop',
  },
  countMoreShops: ({ count, shown }) =>
    plurals.select(count) === 'one' ? `${shown} weiterer Shop` : `${shown} weitere Shops`,
  placeAt: (merchant) => `bei ${merchant}`,
  pricesChecked: { before: 'Preise geprüft am ', after: '.' },
  shippingNotIncluded: 'Preise ohne Versandkosten',
  coverage: 'Der Vergleich umfasst nicht alle Shops.',
  boxOrder: 'Auf Lager zuerst, dann nach Preis',
  gridOrder: {
    discount: 'Höchster Rabatt zuerst',
    saving: 'Größte Ersparnis zuerst',
    price: 'Niedrigster Preis zuerst',
    newest: 'Neueste Angebote zuerst',
  },
  disclosure: 'Anzeige: Für Käufe über diese Links erhalten wir unter Umständen eine Provision.',
  pages: 'Seiten mit Angeboten',
  previousPage: 'Vorherige Seite',
  nextPage: 'Nächste Seite',
}
