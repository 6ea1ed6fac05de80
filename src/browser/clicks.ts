import type { Click } from './click-event.ts'

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
