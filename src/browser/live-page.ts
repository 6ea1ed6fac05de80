/** The server's response to a selection; see `StudioUpdate` in src/studio/update.ts. */
export type StudioUpdate = Readonly<{
  texts: Readonly<Record<string, string>>
  links: Readonly<Record<string, string>>
  selected: readonly string[]
  placeholders: Readonly<Record<string, string>>
  /** Whether the widget is a part of a sentence, for the elements with `data-sentence`. */
  isSentence: boolean
  previews: readonly Preview[]
}>

type Preview = Readonly<{
  isFrame: boolean
  attributes: readonly Readonly<{ name: string; value: string }>[]
}>

/** Apply a response, and show the address of the selection in the address bar. */
export function applyUpdate(update: StudioUpdate): void {
  const { texts, links, selected, placeholders, isSentence, previews } = update
  for (const element of document.querySelectorAll<HTMLElement>('[data-text]')) updateText(element, texts)
  for (const link of document.querySelectorAll<HTMLAnchorElement>('a[data-leads]')) updateLink(link, links)
  for (const link of document.querySelectorAll<HTMLAnchorElement>('.facets a')) markSelected(link, selected)
  for (const errorElement of document.querySelectorAll<HTMLElement>('.wrong')) markInvalid(errorElement)
  for (const [name, placeholder] of Object.entries(placeholders))
    document.getElementById(`option-${name}`)?.setAttribute('placeholder', placeholder)
  for (const part of document.querySelectorAll<HTMLElement>('[data-sentence]'))
    part.hidden = part.dataset['sentence'] !== String(isSentence)
  replaceHiddenSnippet()
  for (const [index, device] of document.querySelectorAll<HTMLElement>('.device').entries())
    updatePreview(device, previews[index])
  const { search } = new URL(texts['address'] ?? '', location.href)
  history.replaceState(null, '', `${location.pathname}${search}`)
}

/** Report that a change had no effect; the field keeps its value. */
export function showNoResponse(): void {
  const notice = document.querySelector<HTMLElement>('.notice')
  if (notice === null) return
  notice.dataset['away'] = ''
  notice.textContent = 'The server does not respond. Preview and snippets show the previous selection.'
  notice.hidden = false
}

function updateText(element: HTMLElement, texts: StudioUpdate['texts']): void {
  // A filter without a match has no count.
  const text = texts[element.dataset['text'] ?? ''] ?? ('count' in element.dataset ? '0' : undefined)
  if (text === undefined || text === element.textContent) return
  element.textContent = text
  delete element.dataset['away']
  if (element.matches('.wrong, .notice, .remark')) element.hidden = text === ''
}

function updateLink(link: HTMLAnchorElement, links: StudioUpdate['links']): void {
  link.href = links[link.dataset['leads'] ?? ''] ?? link.href
}

function markSelected(link: HTMLAnchorElement, selected: StudioUpdate['selected']): void {
  if (selected.includes(link.dataset['leads'] ?? '')) link.setAttribute('aria-current', 'true')
  else link.removeAttribute('aria-current')
}

/** Tell assistive technology that the field has an error. */
function markInvalid(errorElement: HTMLElement): void {
  const field = document.getElementById(errorElement.id.replace('wrong-', 'option-'))
  if (errorElement.hidden) field?.removeAttribute('aria-invalid')
  else field?.setAttribute('aria-invalid', 'true')
}

/** Open a snippet in place of one that is hidden now. Without an open one, the user has closed it. */
function replaceHiddenSnippet(): void {
  const hiddenSnippet = document.querySelector('.snippet[open][hidden]')
  if (hiddenSnippet === null) return
  hiddenSnippet.removeAttribute('open')
  document.querySelector('.snippet:not([hidden])')?.setAttribute('open', '')
}

/** A preview with other attributes needs another frame. */
function updatePreview(device: HTMLElement, preview: Preview | undefined): void {
  const current = device.firstElementChild
  if (preview === undefined || current === null || isShown(current, preview)) return
  const next = document.createElement(preview.isFrame ? 'iframe' : 'div')
  for (const { name, value } of preview.attributes) next.setAttribute(name, value)
  // The page of a sentence has a fixed height.
  if (preview.isFrame) device.style.minHeight = ''
  else keepHeight(device, next)
  window.vitrine?.destroy(current)
  current.replaceWith(next)
  window.vitrine?.scan(next)
}

/** Whether the element has the attributes; the script of the widget adds others. */
function isShown(current: Element, { isFrame, attributes }: Preview): boolean {
  const names = new Set(attributes.map(({ name }) => name))
  return (
    (current.localName === 'iframe') === isFrame &&
    attributes.every(({ name, value }) => current.getAttribute(name) === value) &&
    current.getAttributeNames().every((name) => !name.startsWith('data-') || names.has(name))
  )
}

/** Avoid a layout shift: the space of a preview stays until the new frame reports its height. */
function keepHeight({ style, offsetHeight }: HTMLElement, placeholder: HTMLElement): void {
  style.minHeight = `${offsetHeight}px`
  const release = ({ source, data }: MessageEvent<{ type?: unknown } | null>): void => {
    const { isConnected } = placeholder
    const isReport = source === placeholder.querySelector('iframe')?.contentWindow && data?.type !== 'ready'
    if (isConnected && !isReport) return
    if (isConnected) style.minHeight = ''
    window.removeEventListener('message', release)
  }
  window.addEventListener('message', release)
}
