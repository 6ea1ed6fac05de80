type Titles = readonly [box: string, grid: string]

const SCANDINAVIAN: Titles = ['Prissammenligning', 'Tilbud']

/** Headings of boxes and grids by language, the only localized texts of the loader. A round-up has the title of a box. */
const TITLES: ReadonlyMap<string, Titles> = new Map<string, Titles>([
  ['ar', ['مقارنة الأسعار', 'العروض']],
  ['cs', ['Kde koupit', 'Výhodné nabídky']],
  ['da', SCANDINAVIAN],
  ['de', ['Preise im Vergleich', 'Angebote']],
  ['es', ['Dónde comprar', 'Ofertas']],
  ['fi', ['Hintavertailu', 'Tarjoukset']],
  ['fr', ['Où acheter', 'Bons plans']],
  ['it', ['Dove acquistare', 'Offerte']],
  ['ja', ['価格比較', 'お買い得情報']],
  ['nb', SCANDINAVIAN],
  ['nl', ['Waar te koop', 'Aanbiedingen']],
  ['nn', SCANDINAVIAN],
  ['no', SCANDINAVIAN],
  ['pl', ['Gdzie kupić', 'Okazje']],
  ['pt', ['Onde comprar', 'Ofertas']],
  ['sv', ['Prisjämförelse', 'Erbjudanden']],
])

/** Return the title of a frame for assistive technology, in the language of a BCP 47 tag, else in English. */
export function toFrameTitle(kind: string | null, tag: string): string {
  const [box, grid] = TITLES.get(tag.toLowerCase().replace(/-.*/, '')) ?? ['Where to buy', 'Deals']
  return kind === 'deals' ? grid : box
}
