/** What the server says of a choice; see `StudioLive` in src/studio/live.ts. */
export type Live = Readonly<{
  texts: Readonly<Record<string, string>>
  links: Readonly<Record<string, string>>
  chosen: readonly string[]
  stages: readonly (readonly Readonly<{ name: string; value: string }>[])[]
}>

/** Puts an answer in place; the address bar then has the address of the choice. */
export function applyLive({ texts, links, chosen, stages }: Live): void {
  for (const element of document.querySelectorAll<HTMLElement>('[data-text]')) putText(element, texts)
  for (const link of document.querySelectorAll<HTMLAnchorElement>('a[data-leads]')) putLink(link, links)
  for (const link of document.querySelectorAll<HTMLAnchorElement>('.facets a')) markChosen(link, chosen)
  for (const wrong of document.querySelectorAll<HTMLElement>('.wrong')) markField(wrong)
  const placeholders = document.querySelectorAll<HTMLElement>('.device > [data-vitrine]')
  for (const [index, placeholder] of placeholders.entries()) changePreview(placeholder, stages[index] ?? [])
  const { search } = new URL(texts['address'] ?? '', location.href)
  history.replaceState(null, '', `${location.pathname}${search}`)
}

/** Says that nothing came of a change; the field keeps it. */
export function sayUnanswered(): void {
  const notice = document.querySelector<HTMLElement>('.notice')
  if (notice === null) return
  notice.dataset['away'] = ''
  notice.textContent = 'This server does not answer now. Preview and snippets are those of before.'
  notice.hidden = false
}

function putText(element: HTMLElement, texts: Live['texts']): void {
  // A filter that fits nothing any more has no count of its own.
  const text = texts[element.dataset['text'] ?? ''] ?? ('count' in element.dataset ? '0' : undefined)
  if (text === undefined || text === element.textContent) return
  element.textContent = text
  delete element.dataset['away']
  if (element.matches('.wrong, .notice')) element.hidden = text === ''
}

function putLink(link: HTMLAnchorElement, links: Live['links']): void {
  link.href = links[link.dataset['leads'] ?? ''] ?? link.href
}

function markChosen(link: HTMLAnchorElement, chosen: Live['chosen']): void {
  if (chosen.includes(link.dataset['leads'] ?? '')) link.setAttribute('aria-current', 'true')
  else link.removeAttribute('aria-current')
}

/** The field of an error says to assistive technology that it has one. */
function markField(wrong: HTMLElement): void {
  const field = document.getElementById(wrong.id.replace('wrong-', 'option-'))
  if (wrong.hidden) field?.removeAttribute('aria-invalid')
  else field?.setAttribute('aria-invalid', 'true')
}

/** A preview with other attributes is another frame. */
function changePreview(placeholder: HTMLElement, attributes: Live['stages'][number]): void {
  const names = new Set(attributes.map(({ name }) => name))
  const others = placeholder
    .getAttributeNames()
    .filter((name) => name.startsWith('data-') && !names.has(name))
  const isSame = attributes.every(({ name, value }) => placeholder.getAttribute(name) === value)
  if (attributes.length === 0 || (isSame && others.length === 0)) return
  if (placeholder.parentElement) holdHeight(placeholder.parentElement, placeholder)
  window.vitrine?.destroy(placeholder)
  for (const name of others) placeholder.removeAttribute(name)
  for (const { name, value } of attributes) placeholder.setAttribute(name, value)
  window.vitrine?.scan(placeholder)
}

/** The page does not jump: a preview's place stays as high until the new frame has said its height. */
function holdHeight({ style, offsetHeight }: HTMLElement, placeholder: HTMLElement): void {
  style.minHeight = `${offsetHeight}px`
  const release = ({ source, data }: MessageEvent<{ type?: unknown } | null>): void => {
    if (source !== placeholder.querySelector('iframe')?.contentWindow || data?.type === 'ready') return
    style.minHeight = ''
    window.removeEventListener('message', release)
  }
  window.addEventListener('message', release)
}
