import { type Element, getAttribute, getText, listElements } from './app-client.ts'

/** Find elements by a selector of tags, classes and ids, with descendants only. */
export function findAll(html: string, selector: string): Element[] {
  const steps = selector.split(' ')
  return listElements(html).filter((element) => isMatch(element, steps))
}

function isMatch(element: Element, steps: readonly string[]): boolean {
  const last = steps.at(-1) ?? ''
  const others = steps.slice(0, -1)
  return isSimpleMatch(element, last) && (others.length === 0 || hasAncestor(element, others))
}

function hasAncestor({ parentNode }: Element, steps: readonly string[]): boolean {
  if (parentNode === null || !('tagName' in parentNode)) return false
  return isMatch(parentNode, steps) || hasAncestor(parentNode, steps)
}

function isSimpleMatch(element: Element, selector: string): boolean {
  const parts = selector.match(/[.#]?[\w-]+/g) ?? []
  return parts.every((part) => {
    if (part.startsWith('#')) return getAttribute(element, 'id') === part.slice(1)
    if (part.startsWith('.')) return getAttribute(element, 'class').split(' ').includes(part.slice(1))
    return element.tagName === part
  })
}

/** Read the text of the first element; empty without one that is shown. */
export function readStudio(html: string, selector: string): string {
  const [element] = findAll(html, selector)
  const isShown = element !== undefined && element.attrs.every(({ name }) => name !== 'hidden')
  return isShown ? getText(element) : ''
}

/** The address to share. */
export function readStudioAddress(html: string): string {
  const [workbench] = findAll(html, '.workbench')
  return workbench === undefined ? '' : getAttribute(workbench, 'data-address')
}

/** Links to the widget by their texts. */
const WIDGET_LINKS = { embed: 'as a document', fragment: 'as a fragment', oembed: 'as an oEmbed response' }

/** Read the address of a link: of a tab or a product by its text, or of the widget; empty without it. */
export function readStudioLink(html: string, selector: string, text: string): string {
  const link = findAll(html, selector).find((element) => getText(element).includes(text))
  return link === undefined ? '' : getAttribute(link, 'href')
}

/** Read an address of the widget; empty while there is nothing to embed. */
export function readWidgetLink(html: string, name: keyof typeof WIDGET_LINKS): string {
  return readStudioLink(html, '.addresses a', WIDGET_LINKS[name])
}
