/** A box of five offers as a view, for the peer that renders it each time. */
export function makeBoxView() {
  const offers = ['Kopje', 'Novabrück', 'Tindra Home', 'Kestrel Row', 'Velofjell'].map((merchant, index) => ({
    merchant,
    href: `https://links.example/click?shop=${encodeURIComponent(merchant)}&to=https%3A%2F%2Fshop.example%2Fp%2F1`,
    price: {
      price: `€${19 + index}.90`,
      priceHint: 'now',
      oldPrice: index < 3 ? '€29.90' : null,
      oldPriceHint: 'Shop’s former price',
      discount: index < 3 ? '−20%' : null,
    },
    seePrice: 'See price at shop',
    availability: { text: 'In stock', kind: 'in' },
    isBest: index === 0,
    linkLabel: `Buy at ${merchant} for €${19 + index}.90`,
    linkText: 'To the shop',
  }))
  return {
    frame: {
      lang: 'en',
      dir: 'ltr',
      theme: 'auto',
      styles: ['/assets/vitrine.css'],
      isolate: 'none',
      accent: null,
    },
    label: 'Where to buy Sonderby Arne 2',
    heading: 'Where to buy',
    title: 'Sonderby Arne 2 Wireless Over-Ear Headphones, Sand',
    brand: 'Sonderby',
    imageUrl: 'https://pictures.example/headphones.jpg',
    bestLabel: 'Best price',
    offers,
    more: [],
    moreLabel: '',
    honesty: {
      checked: {
        before: 'Prices checked on ',
        iso: '2026-11-21T12:00:00.000Z',
        time: 'Nov 21, 2026, 12:00 PM UTC',
        after: '.',
      },
      order: 'In stock first, then by price',
      shipping: 'Shipping not included',
      coverage: 'Not all shops are compared.',
      disclosure: 'We may earn a commission when you buy through these links.',
    },
    schema: null,
  }
}
