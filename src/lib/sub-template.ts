import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/**
 * Texts with slots for the id of a placement. One text is cached for all placements; `fillSubs` fills its slots when a response
 * is sent.
 */

/** Separates the parts of a slot. Random, so that no text of a catalog contains it; ASCII, so that it is the same in UTF-8 bytes. */
const MARK = `~sub-${randomBytes(8).toString('hex')}~`

/** Where the id goes in a text: between the texts `before` and `after`, at most `maxCharacters` of it. */
type SubSlot = Readonly<{ index: number; before: string; after: string; maxCharacters: number }>

/** A text without an id, and the slots for one. */
export type SubTemplate = Readonly<{ text: string; slots: readonly SubSlot[] }>

/** Parts of a slot and the text after it. */
const PARTS_PER_SLOT = 4

/** Return a slot: nothing without an id; otherwise the id, at most `maxCharacters` of it, between the two texts. */
export function createSubSlot(before: string, after = '', maxCharacters = Infinity): string {
  return ['', before, after, String(maxCharacters), ''].join(MARK)
}

/** Texts of slots, of which there are few. A part of a longer text would keep the whole text in memory, so they are copies. */
const slotTexts = new LRUCache<string, string>({
  max: 1_000,
  memoMethod: (text) => Buffer.from(text).toString(),
})

/** Find the slots of a text. */
export function toSubTemplate(textWithSlots: string): SubTemplate {
  const [first = '', ...parts] = textWithSlots.split(MARK)
  const texts = [first]
  const slots: SubSlot[] = []
  let index = first.length
  for (let start = 0; start < parts.length; start += PARTS_PER_SLOT) {
    const [before = '', after = '', maxCharacters, next = ''] = parts.slice(start, start + PARTS_PER_SLOT)
    slots.push({
      index,
      before: slotTexts.memo(before),
      after: slotTexts.memo(after),
      maxCharacters: Number(maxCharacters),
    })
    texts.push(next)
    index += next.length
  }
  return { text: texts.join(''), slots }
}

/** Fill the slots with the id of a placement; `null`: leave them empty. */
export function fillSubs({ text, slots }: SubTemplate, sub: string | null): string {
  if (sub === null) return text
  let filled = ''
  let end = 0
  for (const { index, before, after, maxCharacters } of slots) {
    filled += `${text.slice(end, index)}${before}${sub.slice(0, maxCharacters)}${after}`
    end = index
  }
  return filled + text.slice(end)
}

/** Remove the slots of a text, for pages of this server. */
export function removeSubSlots(text: string): string {
  return toSubTemplate(text).text
}
