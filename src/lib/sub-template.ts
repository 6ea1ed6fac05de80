import { randomBytes } from 'node:crypto'

/**
 * Texts with slots for the id of a placement. One text is cached for all placements; `fillSubs` fills its slots when a response
 * is sent.
 */

/** Separates the parts of a slot. Random, so that no text of a catalog contains it; ASCII, so that it is the same in UTF-8 bytes. */
const MARK = `~sub-${randomBytes(8).toString('hex')}~`

/** A text, split at its slots: text, then `before`, `after` and maximum length of a slot, then text, and so on. */
export type SubTemplate = readonly string[]

/** Parts between two texts, and the next text. */
const PARTS_PER_SLOT = 4

/** Return a slot: nothing without an id; otherwise the id, at most `maxCharacters` of it, between the two texts. */
export function createSubSlot(before: string, after = '', maxCharacters = Infinity): string {
  return ['', before, after, String(maxCharacters), ''].join(MARK)
}

/** Split a text at its slots. A single part: it has none. */
export function toSubTemplate(text: string): SubTemplate {
  return text.split(MARK)
}

/** Fill the slots with the id of a placement; `null`: leave them empty. */
export function fillSubs(template: SubTemplate, sub: string | null): string {
  let text = template[0] ?? ''
  for (let index = 1; index < template.length; index += PARTS_PER_SLOT) {
    if (sub !== null)
      text += `${template[index]}${sub.slice(0, Number(template[index + 2]))}${template[index + 1]}`
    text += template[index + 3] ?? ''
  }
  return text
}

/** Remove the slots of a text, for pages of this server. */
export function removeSubSlots(text: string): string {
  return fillSubs(toSubTemplate(text), null)
}
