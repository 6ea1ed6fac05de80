import { de } from './de.ts'
import { en } from './en.ts'
import type { Messages } from './messages.ts'

/** Words, the language that they are in, and the direction that it is written in. */
export type FoundMessages = Readonly<{ lang: string; dir: 'ltr' | 'rtl'; messages: Messages }>

type Entry = Readonly<{ dir: 'ltr' | 'rtl'; messages: Messages }>

/** By BCP 47 tag in lower case. */
const LANGUAGES: ReadonlyMap<string, Entry> = new Map<string, Entry>([
  ['en', { dir: 'ltr', messages: en }],
  ['de', { dir: 'ltr', messages: de }],
])

const FALLBACK_TAG = 'en'

/**
 * The words for a BCP 47 tag, whatever it is: those of the tag itself, else of the tag without its last part and so
 * on down to the language, else English. `lang` is the tag of the words found, not the one asked for.
 */
export function findMessages(tag: string): FoundMessages {
  const parts = tag.toLowerCase().split('-')
  for (let length = parts.length; length > 0; length -= 1) {
    const lang = parts.slice(0, length).join('-')
    const found = LANGUAGES.get(lang)
    if (found) return { lang, ...found }
  }
  return { lang: FALLBACK_TAG, dir: 'ltr', messages: en }
}
