import { readFileSync, readdirSync } from 'node:fs'
import { LRUCache } from 'lru-cache'
import type { DealSort } from '../../offers/deals.ts'

/** Availability of an offer; `other` covers unknown values. */
export type AvailabilityKey =
  'in_stock' | 'out_of_stock' | 'preorder' | 'backorder' | 'discontinued' | 'other'

/** One text for each plural category of a language. */
type PluralTexts = Readonly<Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }>

/** `count` selects the plural form, `shown` is printed. */
type ShownCount = Readonly<{ count: number; shown: string }>

/**
 * All texts that readers see or hear. Placeholders in braces are replaced by names of shops and products (unchanged, no
 * sentence inflects them), or by formatted numbers, prices and dates.
 */
export type LocaleTexts = Readonly<{
  boxHeading: string
  boxName: string
  gridHeading: string
  picksHeading: string
  toShop: string
  /** Part of the accessible name of a link to an offer with a price: `{merchant}`, `{price}`. */
  linkWithPrice: string
  /** Part of the accessible name of a link to an offer whose price is too old: `{merchant}`. */
  linkWithoutPrice: string
  seePrice: string
  /** For screen readers, before the price when there is a former one. */
  priceNow: string
  /** Before the former price, which is the shop's, not the manufacturer's. */
  formerPrice: string
  /** Marks the lowest price of those in stock. The box does not compare all shops. */
  lowestPrice: string
  /** Column headers of tables; those of pictures and links are visually hidden. */
  columns: Readonly<
    Record<'picture' | 'product' | 'shop' | 'availability' | 'price' | 'link' | 'shops', string>
  >
  availability: Readonly<Record<AvailabilityKey, string>>
  /** Opens the folded offers, with `{count}`: one text for each plural category of the language. */
  moreShops: PluralTexts
  /** Below a list that is too long: `{count}` shops that it leaves out. */
  omittedShops: PluralTexts
  /** Opens all offers of a product in a round-up: `{count}`. */
  shopCount: PluralTexts
  /** Opens the other variants of a product: `{count}`. */
  moreVariants: PluralTexts
  /** Before another product that stands in for one that no shop sells: `{title}` of the stand-in. */
  standIn: string
  /** `\u00A0` keeps a preposition with the next word. */
  atMerchant: string
  /** When the prices were checked, with `{time}`: a date and a time of day. */
  pricesChecked: string
  pricesAtSending: string
  shippingNotIncluded: string
  coverage: string
  boxOrder: string
  /** Instead of a mark at each offer. */
  allInStock: string
  gridOrder: Readonly<Record<DealSort, string>>
  /** Before a reference price that was observed, in place of `formerPrice`. */
  observedPrice: string
  /**
   * The lowest observed price of all shops of the box: `{days}`, at least 30, `{price}` and `{date}`, with or without the year. The
   * text must be right for every number.
   */
  lowestObserved: string
  /** The same when it was equal on all days: `{days}`, `{price}`. */
  lowestUnchanged: string
  /** Text equivalent of the chart: first and last day `{from}`, `{to}`, lowest and highest of the daily prices `{low}`, `{high}`. */
  priceChart: string
  /** The layout `inline`, with one shop: `{price}`, `{merchant}`. */
  inlineOffer: string
  /** The same with several shops: the lowest price. */
  inlineFrom: string
  disclosure: string
  /** Short disclosure at the start of the link of the layout `inline`: the customary word for advertising of the country. */
  disclosureMark: string
  pages: string
  previousPage: string
  nextPage: string
  /** Accessible names of the carousel's buttons. */
  previousDeals: string
  nextDeals: string
}>

/** A file of this folder, named after its BCP 47 tag. */
type LocaleFile = Readonly<{
  /** For translators. */
  note: string
  dir: 'ltr' | 'rtl'
  /** Other tags, in lower case, for which this language is used. */
  aliases?: readonly string[]
  texts: LocaleTexts
}>

/** A language, by its tag. */
export type Language = Readonly<{
  lang: string
  dir: 'ltr' | 'rtl'
  texts: LocaleTexts
  messages: ReturnType<typeof createMessages>
}>

/** A language, and the locale for prices and dates: the requested one if it is of that language. */
export type Localization = Language & Readonly<{ locale: string }>

/** Files of languages are named after their tag: `fr.json`, `zh-hant-tw.json`, `es-419.json`. */
const LOCALE_FILE = /^([a-z]{2,3}(?:-[a-z\d]{2,8})*)\.json$/

const FALLBACK_TAG = 'en'

/** All languages by tag in lower case. Alternative tags are first, so that a language's own tag overrides them. */
const LANGUAGES: ReadonlyMap<string, Language> = loadLanguages()

/** Tags of all languages, sorted, without alternative tags. */
export const LANGUAGE_TAGS: readonly string[] = [
  ...new Set([...LANGUAGES.values()].map(({ lang }) => lang)),
].sort()

/** Cached localizations: every response needs one, and the search is expensive. */
const localizations = new LRUCache<string, Localization>({ max: 500, memoMethod: createLocalization })

/**
 * Get the localization for a BCP 47 tag: the language of the tag itself, else of the tag without its last part, and so on;
 * English if there is none.
 */
export function getLocalization(locale: string): Localization {
  return localizations.memo(locale)
}

function createLocalization(locale: string): Localization {
  const language = findLanguage(locale)
  const isSameLanguage = locale.split('-', 1)[0] === language.lang.split('-', 1)[0]
  return { ...language, locale: isSameLanguage ? locale : language.lang }
}

function findLanguage(tag: string): Language {
  const parts = tag.toLowerCase().split('-')
  for (let length = parts.length; length > 0; length -= 1) {
    const found = LANGUAGES.get(parts.slice(0, length).join('-'))
    if (found) return found
  }
  return LANGUAGES.get(FALLBACK_TAG) as Language
}

function loadLanguages(): ReadonlyMap<string, Language> {
  const languages = new Map<string, Language>()
  const aliasLanguages = new Map<string, Language>()
  for (const file of readdirSync(new URL('.', import.meta.url))) {
    const [, lang] = LOCALE_FILE.exec(file) ?? []
    if (lang === undefined) continue
    const text = readFileSync(new URL(file, import.meta.url), 'utf8')
    const { aliases = [], dir, texts } = JSON.parse(text) as LocaleFile
    const found = { lang, dir, texts, messages: createMessages(lang, texts) }
    languages.set(lang, found)
    for (const tag of aliases) aliasLanguages.set(tag, found)
  }
  return new Map([...aliasLanguages, ...languages])
}

/** Sentences with placeholders. */
function createMessages(tag: string, texts: LocaleTexts) {
  const plurals = new Intl.PluralRules(tag)
  const formatPlural = (forms: PluralTexts, { count, shown }: ShownCount): string =>
    compileMessage<'count'>(forms[plurals.select(count)] ?? forms.other)({ count: shown })
  const [before = '', after = ''] = texts.pricesChecked.split('{time}')
  return {
    formatBoxLabel: compileMessage<'title'>(texts.boxName),
    formatLinkWithPrice: compileMessage<'merchant' | 'price'>(texts.linkWithPrice),
    formatLinkWithoutPrice: compileMessage<'merchant'>(texts.linkWithoutPrice),
    splitAtMerchant: splitMessage<'merchant'>(texts.atMerchant),
    splitInlineOffer: splitMessage<'merchant' | 'price'>(texts.inlineOffer),
    splitInlineFrom: splitMessage<'merchant' | 'price'>(texts.inlineFrom),
    splitLowestObserved: splitMessage<'days' | 'price' | 'date'>(texts.lowestObserved),
    splitLowestUnchanged: splitMessage<'days' | 'price'>(texts.lowestUnchanged),
    formatPriceChart: compileMessage<'from' | 'to' | 'low' | 'high'>(texts.priceChart),
    formatMoreShops: (count: ShownCount): string => formatPlural(texts.moreShops, count),
    formatOmittedShops: (count: ShownCount): string => formatPlural(texts.omittedShops, count),
    formatShopCount: (count: ShownCount): string => formatPlural(texts.shopCount, count),
    formatMoreVariants: (count: ShownCount): string => formatPlural(texts.moreVariants, count),
    formatStandIn: compileMessage<'title'>(texts.standIn),
    splitStandIn: splitMessage<'title'>(texts.standIn),
    /** The texts before and after the time in a sentence, including spaces. */
    pricesChecked: { before, after },
  }
}

/** One pass: a shop may be named `{price}`, so inserted texts are not searched for placeholders. */
function compileMessage<Placeholder extends string>(
  text: string,
): (values: Readonly<Record<Placeholder, string>>) => string {
  const split = splitMessage<Placeholder>(text)
  return (values) => joinTextParts(split(values))
}

/** A part of a sentence. `placeholder`: the name of the placeholder that the text replaces; `null`: none. */
export type TextPart = Readonly<{ text: string; placeholder: string | null }>

export const joinTextParts = (parts: readonly TextPart[]): string => parts.map(({ text }) => text).join('')

/** For values that the page isolates, because their direction can differ from that of the sentence. */
function splitMessage<Placeholder extends string>(
  text: string,
): (values: Readonly<Record<Placeholder, string>>) => readonly TextPart[] {
  const parts = text.split(/\{(\w+)\}/)
  return (values) =>
    parts
      .map((part, index) => {
        if (index % 2 === 0) return { text: part, placeholder: null }
        return { text: values[part as Placeholder], placeholder: part }
      })
      .filter((part) => part.text !== '')
}
