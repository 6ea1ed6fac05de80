import { type AccentColours, toAccentColours } from './accent.ts'
import { type Localization, type TextPart, getLocalization } from './locales/index.ts'
import { isSvg } from './picture.ts'
import { listNotices } from './view-parts.ts'
import type { AnyView } from './view-models.ts'
import type { BoxView, OfferView } from './box.ts'
import type { DealView } from './grid.ts'

type Colours = AccentColours & Readonly<Record<'surface' | 'ink' | 'quiet' | 'hairline' | 'edge', string>>

/** Colours of a newsletter. Mail programs know no custom properties. They are those of public/styles/vitrine.css. */
const COLOURS: Readonly<Record<'light' | 'dark', Colours>> = {
  light: {
    surface: '#faf8f4',
    ink: '#1d1b18',
    quiet: '#625c52',
    hairline: '#ddd7cb',
    edge: '#8d8577',
    accent: '#0f5257',
    onAccent: '#ffffff',
    accentText: '#0f5257',
  },
  dark: {
    surface: '#1b1a18',
    ink: '#f2efe9',
    quiet: '#b5aea2',
    hairline: '#3a3732',
    edge: '#7f786c',
    accent: '#8fcbc6',
    onAccent: '#10201f',
    accentText: '#8fcbc6',
  },
}

export type MailView = ReturnType<typeof toMailView>
type MailOffer = Pick<
  OfferView,
  'merchant' | 'terms' | 'href' | 'linkLabel' | 'linkText' | 'price' | 'seePrice' | 'availability' | 'isBest'
>
/** `pictureUrl`: `null` when none is shown. */
type MailTitle = Readonly<{ title: string | null; brand: string | null; pictureUrl: string | null }>
/** A product with one offer. `number` and `label`: `null` for none. `isFilled`: whether its button stands out. */
type MailProduct = MailTitle &
  Readonly<{
    number: string | null
    label: string | null
    offer: MailOffer
    merchantParts: readonly TextPart[]
    isFilled: boolean
  }>

/** Build the view of a widget for a newsletter: the same offers in the same order as on a page, without what is folded there. */
export function toMailView(view: AnyView) {
  const { wrapper, header, notices } = view
  const { texts, messages } = getLocalization(wrapper.lang)
  const isBox = view.kind === 'where-to-buy'
  const offers = isBox ? view.offers : []
  const products = listProducts(view, messages)
  return {
    lang: wrapper.lang,
    dir: wrapper.dir,
    start: wrapper.dir === 'rtl' ? 'right' : 'left',
    colours: toColours(wrapper.theme === 'dark' ? 'dark' : 'light', wrapper.accent),
    heading: header.head === 'none' ? null : header.heading,
    /** Whether the heading is the title. A box has that of its product. */
    isTitle: !isBox,
    disclosure: header.disclosure,
    lowestLabel: texts.lowestPrice,
    /** The product that the offers are of; without any, `products` have their own. */
    main: isBox ? toMainTitle(view) : { title: null, brand: null, pictureUrl: null },
    offers,
    products,
    /** Whether products without a picture keep its space. */
    hasPictures: products.some(({ pictureUrl }) => pictureUrl !== null),
    /** What a struck price is; `null` without any. */
    formerPrice: notices.formerPrice,
    notices: [texts.pricesAtSending, ...listNotices(notices)],
  }
}

function toColours(theme: 'light' | 'dark', accent: string | null): Colours {
  return accent === null ? COLOURS[theme] : { ...COLOURS[theme], ...toAccentColours(accent, theme) }
}

function toMainTitle({ header, standIn, title, brand, picture }: BoxView): MailTitle {
  const isNamed = header.head !== 'none'
  return {
    title: standIn ?? (isNamed ? title : null),
    brand: isNamed ? brand : null,
    pictureUrl: findPictureUrl(header, picture),
  }
}

function listProducts(view: AnyView, messages: Localization['messages']): readonly MailProduct[] {
  const toProduct = (
    { title, brand, picture }: Pick<DealView, 'title' | 'brand' | 'picture'>,
    offer: MailOffer,
    { number = null, label = null, isFilled = false }: Partial<MailProduct> = {},
  ): MailProduct => ({
    title,
    brand,
    pictureUrl: findPictureUrl(view.header, picture),
    number,
    label,
    isFilled,
    offer,
    merchantParts: messages.splitAtMerchant({ merchant: offer.merchant }),
  })
  if (view.kind === 'deals')
    return view.deals.map((deal) => toProduct(deal, { ...deal, isBest: false, linkText: view.linkText }))
  if (view.kind === 'where-to-buy') return (view.variants?.rows ?? []).map((row) => toProduct(row, row.offer))
  const isRanked = view.layout === 'rank'
  return view.products.map((product) =>
    toProduct(product, product.offer, {
      number: isRanked ? product.number : null,
      label: product.label,
      isFilled: true,
    }),
  )
}

/** Return the address of the picture; `null`: none is shown. Gmail shows no SVG. */
function findPictureUrl({ head }: AnyView['header'], picture: DealView['picture']): string | null {
  if (head !== 'full' || picture === null) return null
  return isSvg(picture.src) ? null : picture.src
}
