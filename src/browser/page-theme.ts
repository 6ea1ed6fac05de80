const DARK_SYSTEM = '(prefers-color-scheme: dark)'

/**
 * Return the theme of a widget: `light` or `dark` as it asks, else `dark` where the page is dark, and `null` where it is light.
 * The server cannot know it, and of the browsers only Firefox tells a frame the colour scheme of its element.
 */
export function toTheme(element: Element, theme: string | null): string | null {
  if (theme && theme !== 'auto') return theme
  const { colorScheme } = getComputedStyle(element)
  // The head of a page can contain its scheme.
  const schemes =
    colorScheme === 'normal'
      ? element.closest('html')?.querySelector<HTMLMetaElement>('[name=color-scheme]')?.content
      : colorScheme
  const dark = matchMedia(DARK_SYSTEM).matches ? /dark/ : /^(?!.*light).*dark/
  return dark.test(`${schemes}`) ? 'dark' : null
}

/**
 * Call a function when what a widget shows may have changed: by its own attributes, or in its theme by those of the elements
 * around it and by the system. Return a function that stops it.
 */
export function watchWidget(element: Element, update: () => void): () => void {
  const observer = new MutationObserver(update)
  let node: Element | undefined = element
  while (node) {
    observer.observe(node, { attributes: true })
    node = node.parentElement ?? (node.getRootNode() as Partial<ShadowRoot>).host
  }
  const system = matchMedia(DARK_SYSTEM)
  system.addEventListener('change', update)
  return () => {
    observer.disconnect()
    system.removeEventListener('change', update)
  }
}
