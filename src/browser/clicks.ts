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

/**
 * Call a function for each click on a shop link of a widget in the page, also in an open shadow root, with the element of the
 * widget. It cannot delay or prevent the link.
 */
export function watchClicks(report: (widget: Element, click: Click) => void): void {
  const listen = (event: MouseEvent): void => {
    const [target] = event.composedPath()
    // The keyboard causes a `click`. The right button, which opens a menu, is number 2.
    const link =
      target instanceof Element && event.button < 2 && target.closest<HTMLAnchorElement>('a[data-merchant]')
    const widget = link && link.closest<HTMLElement>('.vitrine,.vitrine-inline')
    if (widget) report(widget, toClick(widget, link))
  }
  // While capturing, because scripts of the page could stop the event.
  addEventListener('click', listen, true)
  addEventListener('auxclick', listen, true)
}

function toClick(widget: HTMLElement, link: HTMLAnchorElement): Click {
  const isList = widget.matches('.vitrine-picks,.vitrine-grid')
  const toKey = ({ href, dataset }: HTMLAnchorElement): string | undefined =>
    isList ? dataset['gtin'] : href
  // A shop can have a link in a card and another one in its fold.
  const keys = new Set([...widget.querySelectorAll<HTMLAnchorElement>('a[data-merchant]')].map(toKey))
  const { merchant = '', gtin = '' } = link.dataset
  return { merchant, gtin, position: [...keys].indexOf(toKey(link)) + 1, sub: widget.dataset['sub'] || null }
}

/** Maximum length of a text in an event, in UTF-16 units. */
const MAX_TEXT_CHARACTERS = 200

/** Dispatch a click to the scripts of the page, unless the message of a frame has wrong types or lengths. */
export function dispatchClick(element: Element, message: Readonly<Record<keyof Click, unknown>>): void {
  const { merchant, gtin, position, sub = null } = message
  const isValid =
    Number.isInteger(position) &&
    [merchant, gtin, sub ?? ''].every(
      (text) => typeof text === 'string' && text.length <= MAX_TEXT_CHARACTERS,
    )
  const detail = { merchant, gtin, position, sub }
  // `composed`: also to scripts outside of a shadow root.
  if (isValid)
    element.dispatchEvent(new CustomEvent('vitrine:click', { bubbles: true, composed: true, detail }))
}
