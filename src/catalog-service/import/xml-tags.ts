import type { SaxesTagNS } from 'saxes'
import { UNDECODED } from './encoding.ts'
import { truncateRaw } from './feed-row.ts'

export type TagChecks = Readonly<{
  /** Matches the name of an item, without a look at the elements around it. */
  tagPattern: string
  /** Whether a text contains the end of an item or offer, and then an element. */
  hasItemBoundary(text: string): boolean
}>

/** Create the checks of a collector. `items`, `offers`: their names, as `toColumnName` gives them. */
export function createTagChecks(items: readonly string[], offers: readonly string[] = []): TagChecks {
  const end = new RegExp(`</${toTagPattern([...items, ...offers])}\\s*>`, 'i')
  return {
    tagPattern: toTagPattern(items),
    hasItemBoundary(text) {
      const found = end.exec(text)
      return found !== null && /<[a-z_]/i.test(text.slice(found.index))
    },
  }
}

function toTagPattern(names: readonly string[]): string {
  const patterns = names.map((name) => escapePattern(name).replaceAll('_', '[-_]'))
  return `(?:[^\\s<>/:]+:)?(?:${patterns.join('|')})`
}

export function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** Return the fields of an item for a reject. */
export function toRawXml(fields: object): string {
  return truncateRaw(JSON.stringify(fields).replaceAll(UNDECODED, '\ufffd'))
}

/** Return the start tag as XML. */
export function toOpenTag({ name, attributes }: SaxesTagNS): string {
  return `<${name}${Object.values(attributes).map(toAttribute).join('')}>`
}

function toAttribute({ name, value }: Readonly<{ name: string; value: string }>): string {
  return ` ${name}="${value.replace(/[&<"\s]/g, (character) => `&#${character.charCodeAt(0)};`)}"`
}

export function countLineBreaks(text: string): number {
  return text.split(/\r\n|[\r\n]/).length - 1
}
