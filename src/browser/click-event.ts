/** A click on a link to a shop. */
export type Click = Readonly<{
  merchant: string
  /** 14 digits. */
  gtin: string
  /** From 1: of the shop in a box, also in a fold; of the product in a round-up or a grid. */
  position: number
  /** Id of the placement; `null`: none. */
  sub: string | null
}>

/** Maximum length of a text in an event, in UTF-16 units. */
const MAX_TEXT_CHARACTERS = 200

/** Dispatch `vitrine:click` to the scripts of the page, unless the message of a frame has wrong types or lengths. */
export function dispatchClick(target: EventTarget, message: Readonly<Record<keyof Click, unknown>>): void {
  const { merchant, gtin, position, sub = null } = message
  const isValid =
    Number.isInteger(position) &&
    [merchant, gtin, sub ?? ''].every(
      (text) => typeof text === 'string' && text.length <= MAX_TEXT_CHARACTERS,
    )
  const detail = { merchant, gtin, position, sub }
  // `composed`: also to scripts outside of a shadow root.
  if (isValid)
    target.dispatchEvent(new CustomEvent('vitrine:click', { bubbles: true, composed: true, detail }))
}
