import { readFileSync, readdirSync } from 'node:fs'
import { LRUCache } from 'lru-cache'
import type { DealSort } from '../../offers/deals.ts'

/** How a shop says that it has the product; `other` covers unknown words. */
export type AvailabilityKey =
  'in_stock' | 'out_of_stock' | 'preorder' | 'backorder' | 'discontinued' | 'other'

/**
 * All words that a reader sees or hears, as data. A word in braces is filled in: names of shops and products as they
 * are (no sentence bends them), numbers, prices and dates already formatted.
 */
export type LocaleTexts = Readonly<{
  boxHeading: string
  boxName: string
  gridHeading: string
  toShop: string
  /** Completes the accessible name of a link to an offer with a price: `{merchant}`, `{price}`. */
  linkWithPrice: string
  /** Completes the accessible name of a link to an offer whose price is too old: `{merchant}`. */
  linkWithoutPrice: string
  seePrice: string
  /** Spoken before the price when there is a former one. */
  priceNow: string
  /** Shown and spoken before the former price: the shop's own, not the maker's. */
  formerPrice: string
  /** Marks the lowest price of those in stock. */
  bestPrice: string
  /** Heads of a table's columns; the last one is only heard. */
  columns: Readonly<Record<'shop' | 'availability' | 'price' | 'link', string>>
  availability: Readonly<Record<AvailabilityKey, string>>
  /** The line that opens the folded offers, with `{count}`: one form for each plural category of the language. */
  moreShops: Readonly<Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }>
  atMerchant: string
  /** When the prices were checked, with `{time}`: a date and a time of day. */
  pricesChecked: string
  shippingNotIncluded: string
  coverage: string
  boxOrder: string
  gridOrder: Readonly<Record<DealSort, string>>
  disclosure: string
  pages: string
  previousPage: string
  nextPage: string
  /** Accessible names of the buttons that move a carousel. */
  previousDeals: string
  nextDeals: string
}>

/** A file of this folder, named after its BCP 47 tag. */
type LocaleFile = Readonly<{
  /** For translators. */
  note: string
  dir: 'ltr' | 'rtl'
  /** Other tags, in lower case, whose readers read this language. */
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

/** A language, and the locale that prices and dates are formatted for: the reader's own where it is of that language. */
export type Localization = Language & Readonly<{ locale: string }>

/** `fr.json`, `zh-hant-tw.json`, `es-419.json`: a file that is named after a tag is a language. */
const LOCALE_FILE = /^([a-z]{2,3}(?:-[a-z\d]{2,8})*)\.json$/

const FALLBACK_TAG = 'en'

/** Every language of this folder by tag, in lower case; the tags that it is also for come last, so that they take no other's place. */
const LANGUAGES: ReadonlyMap<string, Language> = loadLanguages()

/** Tags of all languages, sorted; without those that a language is also for. */
export const LANGUAGE_TAGS: readonly string[] = [
  ...new Set([...LANGUAGES.values()].map(({ lang }) => lang)),
].sort()

/** Locales that are kept ready: every response needs one, and finding it costs more than using it. */
const localizations = new LRUCache<string, Localization>({ max: 500, memoMethod: createLocalization })

/**
 * Find the words for a reader's locale, a BCP 47 tag: those of the tag itself, else of the tag without its last part and so on down
 * to the language, else English.
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

/** Sentences with places that a call fills in. */
function createMessages(tag: string, texts: LocaleTexts) {
  const plurals = new Intl.PluralRules(tag)
  const [before = '', after = ''] = texts.pricesChecked.split('{time}')
  return {
    formatBoxLabel: compileMessage<'title'>(texts.boxName),
    formatLinkWithPrice: compileMessage<'merchant' | 'price'>(texts.linkWithPrice),
    formatLinkWithoutPrice: compileMessage<'merchant'>(texts.linkWithoutPrice),
    formatAtMerchant: compileMessage<'merchant'>(texts.atMerchant),
    /** `count` chooses the plural form, `shown` is printed. */
    formatMoreShops({ count, shown: formattedCount }: Readonly<{ count: number; shown: string }>): string {
      const text = texts.moreShops[plurals.select(count)] ?? texts.moreShops.other
      return compileMessage<'count'>(text)({ count: formattedCount })
    },
    /** A date inside a sentence: the time stands between the two, spaces included. */
    pricesChecked: { before, after },
  }
}

/** A shop may be named `{price}`: what is filled in is not looked at again. */
function compileMessage<Placeholder extends string>(
  text: string,
): (values: Readonly<Record<Placeholder, string>>) => string {
  const parts = text.split(/\{(\w+)\}/)
  return (values) =>
    parts.map((part, index) => (index % 2 === 0 ? part : values[part as Placeholder])).join('')
}
