import { MAX_RAW_CHARACTERS } from './feed-product.ts'

/**
 * The beginning of a text, as much as a reject shows. It is a copy: a piece of a long text would keep all of that in
 * memory.
 */
export function cutRaw(text: string): string {
  return copyText(text.slice(0, MAX_RAW_CHARACTERS))
}

/** The same text with memory of its own. Halves of surrogate pairs stay. */
export function copyText(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le')
}
