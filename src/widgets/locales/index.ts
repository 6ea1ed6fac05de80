import { readdirSync } from 'node:fs'
import { LRUCache } from 'lru-cache'
import type { Locale, Words } from './words.ts'

/** Sentences with places that a call fills in. */
type Messages = Readonly<{
  nameBox(names: Readonly<{ title: string }>): string
  nameLinkWithPrice(names: Readonly<{ merchant: string; price: string }>): string
  nameLinkWithoutPrice(names: Readonly<{ merchant: string }>): string
  placeAt(names: Readonly<{ merchant: string }>): string
  /** `count` chooses the plural form, `shown` is printed. */
  countMoreShops(number: Readonly<{ count: number; shown: string }>): string
  /** A date inside a sentence: the time stands between the two, spaces included. */
  pricesChecked: Readonly<{ before: string; after: string }>
}>

/** A language, by its tag. */
export type Language = Readonly<{ lang: string; dir: 'ltr' | 'rtl'; words: Words; messages: Messages }>

/** A language, and the locale that prices and dates are formatted for: the reader's own where it is of that language. */
export type Speech = Language & Readonly<{ locale: string }>

/** `fr.ts`, `zh-hant-tw.ts`, `es-419.js`: a file that is named after a tag is a language. */
const LOCALE_FILE = /^([a-z]{2,3}(?:-[a-z\d]{2,8})*)\.[jt]s$/

const FALLBACK_TAG = 'en'

/** Every language of this folder by tag, in lower case; the tags that it is also for come last, so that they take no other's place. */
const LANGUAGES: ReadonlyMap<string, Language> = await loadLanguages()

/** Tags of all languages, sorted; without those that a language is also for. */
export const LANGUAGE_TAGS: readonly string[] = [
  ...new Set([...LANGUAGES.values()].map(({ lang }) => lang)),
].sort()

/** Locales that are kept ready: every answer needs one, and finding it costs more than using it. */
const speeches = new LRUCache<string, Speech>({ max: 500 })

/** Find the words for a reader's locale. */
export function findSpeech(locale: string): Speech {
  const kept = speeches.get(locale)
  if (kept !== undefined) return kept
  const language = findLanguage(locale)
  const { lang } = language
  const isSameLanguage = new Intl.Locale(locale).language === new Intl.Locale(lang).language
  const speech = { ...language, locale: isSameLanguage ? locale : lang }
  speeches.set(locale, speech)
  return speech
}

/**
 * Find the language of a BCP 47 tag, whatever it is: that of the tag itself, else of the tag without its last part and so
 * on down to the language, else English.
 */
export function findLanguage(tag: string): Language {
  const parts = tag.toLowerCase().split('-')
  for (let length = parts.length; length > 0; length -= 1) {
    const found = LANGUAGES.get(parts.slice(0, length).join('-'))
    if (found) return found
  }
  return LANGUAGES.get(FALLBACK_TAG) as Language
}

async function loadLanguages(): Promise<ReadonlyMap<string, Language>> {
  const languages = new Map<string, Language>()
  const others = new Map<string, Language>()
  for (const file of readdirSync(new URL('.', import.meta.url))) {
    const [, lang] = LOCALE_FILE.exec(file) ?? []
    if (lang === undefined) continue
    const { locale } = (await import(new URL(file, import.meta.url).href)) as { locale: Locale }
    const { alsoFor = [], dir, words } = locale
    const found = { lang, dir, words, messages: toMessages(lang, words) }
    languages.set(lang, found)
    for (const tag of alsoFor) others.set(tag, found)
  }
  return new Map([...others, ...languages])
}

/** Plurals are those of `Intl` for the tag. */
function toMessages(tag: string, words: Words): Messages {
  const plurals = new Intl.PluralRules(tag)
  const moreShops = new Map(Object.entries(words.moreShops).map(([form, text]) => [form, toFiller(text)]))
  const moreOther = toFiller(words.moreShops.other)
  const [before = '', after = ''] = words.pricesChecked.split('{time}')
  return {
    nameBox: toFiller(words.boxName),
    nameLinkWithPrice: toFiller(words.linkWithPrice),
    nameLinkWithoutPrice: toFiller(words.linkWithoutPrice),
    placeAt: toFiller(words.atMerchant),
    countMoreShops: ({ count, shown }) =>
      (moreShops.get(plurals.select(count)) ?? moreOther)({ count: shown }),
    pricesChecked: { before, after },
  }
}

/** A shop may be named `{price}`: what is filled in is not looked at again. */
function toFiller(text: string): (names: Readonly<Record<string, string>>) => string {
  const parts = text.split(/\{(\w+)\}/)
  return (names) => parts.map((part, index) => (index % 2 === 0 ? part : names[part])).join('')
}
