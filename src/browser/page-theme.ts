const DARK_SYSTEM = '(prefers-color-scheme: dark)'

/** The scheme that the head of the page contains. */
const findMeta = (): HTMLMetaElement | null =>
  Document.prototype.querySelector.call(document, 'meta[name=color-scheme]') as HTMLMetaElement | null

/**
 * Return the theme of a widget: `light` or `dark` as it asks, else `dark` where the page is dark, and `null` where it is light.
 * The server cannot know it, and of the browsers only Firefox tells a frame the colour scheme of its element.
 */
export function toTheme(element: Element, theme: string | null): string | null {
  if (theme && theme !== 'auto') return theme
  const { colorScheme } = getComputedStyle(element)
  const schemes = `${colorScheme === 'normal' ? findMeta()?.content : colorScheme}`
  const isDark = /dark/i.test(schemes) && (matchMedia(DARK_SYSTEM).matches || !/light/i.test(schemes))
  return isDark ? 'dark' : null
}

/**
 * Call a function when what a widget shows may have changed: by its own attributes, or in its theme by those of the elements
 * around it, by the head of the page and by the system. Return a function that stops it.
 */
export function watchWidget(element: Element, update: () => void): () => void {
  const observer = new MutationObserver(update)
  for (const start of [element, findMeta()]) {
    let node: Element | null | undefined = start
    while (node) {
      observer.observe(node, { attributes: true })
      node = node.parentElement ?? (node.getRootNode() as Partial<ShadowRoot>).host
    }
  }
  const system = matchMedia(DARK_SYSTEM)
  system.addEventListener('change', update)
  return () => {
    observer.disconnect()
    system.removeEventListener('change', update)
  }
}
