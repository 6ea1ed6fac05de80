/** The response of the server; see `StudioUpdate` in src/studio/update.ts. */
export type StudioUpdate = Readonly<{
  texts: Readonly<Record<string, string>>
  links: Readonly<Record<string, string>>
  selected: readonly string[]
  previews: readonly (readonly Readonly<{ name: string; value: string }>[])[]
}>

/** Apply a response to the page and the address bar. */
export function applyUpdate({ texts, links, selected, previews }: StudioUpdate): void {
  for (const element of document.querySelectorAll<HTMLElement>('[data-text]')) updateText(element, texts)
  for (const link of document.querySelectorAll<HTMLAnchorElement>('a[data-leads]')) updateLink(link, links)
  for (const link of document.querySelectorAll<HTMLAnchorElement>('.facets a')) markSelected(link, selected)
  for (const errorElement of document.querySelectorAll<HTMLElement>('.wrong')) markInvalid(errorElement)
  const placeholders = document.querySelectorAll<HTMLElement>('.device > [data-vitrine]')
  for (const [index, placeholder] of placeholders.entries()) updatePreview(placeholder, previews[index] ?? [])
  const { search } = new URL(texts['address'] ?? '', location.href)
  history.replaceState(null, '', `${location.pathname}${search}`)
}

/** Report that the server did not apply a change; the field keeps its value. */
export function showNoResponse(): void {
  const notice = document.querySelector<HTMLElement>('.notice')
  if (notice === null) return
  notice.dataset['away'] = ''
  notice.textContent =
    'The server does not respond. Preview and snippets are without your last change. Repeat the change later.'
  notice.hidden = false
}

function updateText(element: HTMLElement, texts: StudioUpdate['texts']): void {
  // A filter without matches is missing in the response.
  const text = texts[element.dataset['text'] ?? ''] ?? ('count' in element.dataset ? '0' : undefined)
  if (text === undefined || text === element.textContent) return
  element.textContent = text
  delete element.dataset['away']
  if (element.matches('.wrong, .notice')) element.hidden = text === ''
}

function updateLink(link: HTMLAnchorElement, links: StudioUpdate['links']): void {
  link.href = links[link.dataset['leads'] ?? ''] ?? link.href
}

function markSelected(link: HTMLAnchorElement, selected: StudioUpdate['selected']): void {
  if (selected.includes(link.dataset['leads'] ?? '')) link.setAttribute('aria-current', 'true')
  else link.removeAttribute('aria-current')
}

function markInvalid(errorElement: HTMLElement): void {
  const field = document.getElementById(errorElement.id.replace('wrong-', 'option-'))
  if (errorElement.hidden) field?.removeAttribute('aria-invalid')
  else field?.setAttribute('aria-invalid', 'true')
}

function updatePreview(placeholder: HTMLElement, attributes: StudioUpdate['previews'][number]): void {
  const names = new Set(attributes.map(({ name }) => name))
  const staleNames = placeholder
    .getAttributeNames()
    .filter((name) => name.startsWith('data-') && !names.has(name))
  const isUnchanged = attributes.every(({ name, value }) => placeholder.getAttribute(name) === value)
  if (attributes.length === 0 || (isUnchanged && staleNames.length === 0)) return
  if (placeholder.parentElement) keepHeight(placeholder.parentElement, placeholder)
  window.vitrine?.destroy(placeholder)
  for (const name of staleNames) placeholder.removeAttribute(name)
  for (const { name, value } of attributes) placeholder.setAttribute(name, value)
  window.vitrine?.scan(placeholder)
}

/** Keep the height of a preview until the new frame reports its height, so that the page does not jump. */
function keepHeight({ style, offsetHeight }: HTMLElement, placeholder: HTMLElement): void {
  style.minHeight = `${offsetHeight}px`
  const release = ({ source, data }: MessageEvent<{ type?: unknown } | null>): void => {
    if (source !== placeholder.querySelector('iframe')?.contentWindow || data?.type === 'ready') return
    style.minHeight = ''
    window.removeEventListener('message', release)
  }
  window.addEventListener('message', release)
}
