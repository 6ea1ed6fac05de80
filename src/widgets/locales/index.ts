import { readdirSync } from 'node:fs'
import { type Messages, toMessages } from './messages.ts'
import type { Locale } from './words.ts'

/** Words, the language that they are in, and the direction that it is written in. */
export type FoundMessages = Readonly<{ lang: string; dir: 'ltr' | 'rtl'; messages: Messages }>

/** `fr.ts`, `zh-hant-tw.ts`, `es-419.js`: a file that is named after a tag is a language. */
const LOCALE_FILE = /^([a-z]{2,3}(?:-[a-z\d]{2,8})*)\.[jt]s$/

const FALLBACK_TAG = 'en'

/** Every language of this folder by tag, in lower case; the tags that it is also for come last, so that they take no other's place. */
const LANGUAGES: ReadonlyMap<string, FoundMessages> = await loadLanguages()

/** Tags of all languages, sorted; without those that a language is also for. */
export const LANGUAGE_TAGS: readonly string[] = [
  ...new Set([...LANGUAGES.values()].map(({ lang }) => lang)),
].sort()

/**
 * The words for a BCP 47 tag, whatever it is: those of the tag itself, else of the tag without its last part and so
 * on down to the language, else English. `lang` is the tag of the words found, not the one asked for.
 */
export function findMessages(tag: string): FoundMessages {
  const parts = tag.toLowerCase().split('-')
  for (let length = parts.length; length > 0; length -= 1) {
    const found = LANGUAGES.get(parts.slice(0, length).join('-'))
    if (found) return found
  }
  return LANGUAGES.get(FALLBACK_TAG) as FoundMessages
}

async function loadLanguages(): Promise<ReadonlyMap<string, FoundMessages>> {
  const languages = new Map<string, FoundMessages>()
  const others = new Map<string, FoundMessages>()
  for (const file of readdirSync(new URL('.', import.meta.url))) {
    const [, lang] = LOCALE_FILE.exec(file) ?? []
    if (lang === undefined) continue
    const { locale } = (await import(new URL(file, import.meta.url).href)) as { locale: Locale }
    const found = { lang, dir: locale.dir, messages: toMessages(lang, locale.words) }
    languages.set(lang, found)
    for (const tag of locale.alsoFor ?? []) others.set(tag, found)
  }
  return new Map([...others, ...languages])
}
