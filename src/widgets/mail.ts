import { type AccentColours, toAccentColours } from './accent.ts'
import { getLocalization } from './locales/index.ts'
import type { CommonOptions } from './options.ts'
import type { BoxView, DealView, GridView, OfferView, PicksView } from './view-models.ts'

type Colours = AccentColours & Readonly<Record<'surface' | 'ink' | 'quiet' | 'hairline', string>>

/** Colours of a newsletter. Mail programs know no custom properties. They are those of public/styles/vitrine.css. */
const COLOURS: Readonly<Record<'light' | 'dark', Colours>> = {
  light: {
    surface: '#faf8f4',
    ink: '#1d1b18',
    quiet: '#625c52',
    hairline: '#ddd7cb',
    accent: '#0f5257',
    onAccent: '#ffffff',
    accentText: '#0f5257',
  },
  dark: {
    surface: '#1b1a18',
    ink: '#f2efe9',
    quiet: '#b5aea2',
    hairline: '#3a3732',
    accent: '#8fcbc6',
    onAccent: '#10211f',
    accentText: '#8fcbc6',
  },
}

export type MailView = ReturnType<typeof toMailView>
type MailOffer = Pick<
  OfferView,
  'merchant' | 'terms' | 'href' | 'linkLabel' | 'linkText' | 'price' | 'seePrice' | 'availability' | 'isBest'
>
/** A product with its offers. `title` is `null` below a header without one. */
type MailProduct = Readonly<{
  label: string | null
  title: string | null
  brand: string | null
  pictureUrl: string | null
  offers: readonly MailOffer[]
}>

/** Build the view of a widget for a newsletter: the same offers in the same order as on a page, without what is folded there. */
export function toMailView(
  view: BoxView | PicksView | GridView,
  { theme, accent, locale }: Pick<CommonOptions, 'theme' | 'accent' | 'locale'>,
) {
  const { wrapper, header, notices } = view
  const { texts } = getLocalization(locale)
  const { terms, formerPrice, checkedAt, coverage } = notices
  return {
    lang: wrapper.lang,
    dir: wrapper.dir,
    start: wrapper.dir === 'rtl' ? 'right' : 'left',
    end: wrapper.dir === 'rtl' ? 'left' : 'right',
    colours: toColours(theme === 'dark' ? 'dark' : 'light', accent),
    heading: header.head === 'none' ? null : header.heading,
    disclosure: header.disclosure,
    lowestLabel: texts.lowestPrice,
    products: listProducts(view),
    /** What a struck price is; `null` without any. */
    formerPrice,
    notices: [
      texts.pricesAtSending,
      ...terms,
      ...(checkedAt === null ? [] : [`${checkedAt.before}${checkedAt.time}${checkedAt.after}`]),
      coverage,
    ],
  }
}

function toColours(theme: 'light' | 'dark', accent: string | null): Colours {
  return accent === null ? COLOURS[theme] : { ...COLOURS[theme], ...toAccentColours(accent, theme) }
}

function listProducts(view: BoxView | PicksView | GridView): readonly MailProduct[] {
  const hasPictures = view.header.head === 'full'
  if ('deals' in view) return view.deals.map((deal) => toDealProduct(deal, view.linkText, hasPictures))
  if ('products' in view) return view.products.map((product) => toRowProduct(product, hasPictures))
  const { title, brand, standIn, picture, offers, variants } = view
  const main = {
    label: null,
    title: standIn ?? (view.header.head === 'none' ? null : title),
    brand,
    pictureUrl: hasPictures ? (picture?.src ?? null) : null,
    offers,
  }
  return [main, ...(variants?.rows ?? []).map((row) => toRowProduct({ ...row, label: null }, hasPictures))]
}

function toRowProduct(
  { label, title, brand, picture, offer }: Omit<PicksView['products'][number], 'number'>,
  hasPictures: boolean,
): MailProduct {
  return { label, title, brand, pictureUrl: hasPictures ? (picture?.src ?? null) : null, offers: [offer] }
}

function toDealProduct(deal: DealView, linkText: string, hasPictures: boolean): MailProduct {
  const { title, brand, picture } = deal
  const offers = [{ ...deal, isBest: false, linkText }]
  return { label: null, title, brand, pictureUrl: hasPictures ? (picture?.src ?? null) : null, offers }
}
