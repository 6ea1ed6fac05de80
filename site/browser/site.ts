import { openSearch } from './search-dialog.ts'
import { startThemeSwitch } from './theme-switch.ts'

const root = document.documentElement

/** Return a relative address of the folder of this version. */
const toRoot = (path: string): string => `${root.dataset['root'] ?? ''}${path}`

function addCopyButtons(): void {
  for (const block of document.querySelectorAll('.code')) {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'copy'
    button.textContent = 'Copy'
    button.setAttribute('aria-live', 'polite')
    button.addEventListener('click', () => {
      void copy(block.querySelector('code')?.textContent ?? '', button)
    })
    block.append(button)
  }
}

async function copy(text: string, button: HTMLElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    button.textContent = 'Copied'
  } catch {
    button.textContent = 'Select the text to copy it'
  }
  setTimeout(() => {
    button.textContent = 'Copy'
  }, 2000)
}

/** Blocks that fit need no keyboard to scroll them. */
function watchScrolling(): void {
  const observer = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const isCut = target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight
      if (isCut) target.setAttribute('tabindex', '0')
      else target.removeAttribute('tabindex')
    }
  })
  for (const block of document.querySelectorAll('pre, .scroll')) observer.observe(block)
}

/** Mark the section that is being read in the list "On this page". */
function markSections(): void {
  const links = new Map(
    [...document.querySelectorAll<HTMLAnchorElement>('.toc a')].map((link) => [
      decodeURIComponent(link.hash.slice(1)),
      link,
    ]),
  )
  const ids = [...links.keys()]
  const headings = ids.flatMap((_id, index) => document.getElementById(ids.at(-index - 1) ?? '') ?? [])
  const mark = (): void => {
    const current = headings.find((heading) => heading.getBoundingClientRect().top < 140)
    for (const [id, link] of links) {
      if (id === current?.id) link.setAttribute('aria-current', 'location')
      else link.removeAttribute('aria-current')
    }
  }
  if (headings.length > 0) addEventListener('scroll', mark, { passive: true })
}

/** A link of a list that covers the page closes it. */
function closeListsByLinks(): void {
  for (const list of document.querySelectorAll<HTMLElement>('[popover]')) {
    list.addEventListener('click', (event) => {
      if (
        event.target instanceof Element &&
        event.target.closest('a') !== null &&
        list.matches(':popover-open')
      )
        list.hidePopover()
    })
  }
}

/** Turn the link to all pages into the button of the search. */
function startSearch(link: HTMLAnchorElement): void {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = link.className
  button.setAttribute('aria-keyshortcuts', '/')
  button.innerHTML = '<span>Search</span> <kbd aria-hidden="true">/</kbd>'
  link.replaceWith(button)
  button.addEventListener('click', () => openSearch(toRoot))
  addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof Element && event.target.matches('input, select, textarea')
    const isShortcut = event.key === '/' || (event.key === 'k' && (event.ctrlKey || event.metaKey))
    if (!isShortcut || isTyping) return
    event.preventDefault()
    openSearch(toRoot)
  })
}

/** Offer the other versions, and say when this one is not the newest. */
async function showVersions(place: HTMLElement): Promise<void> {
  const version = root.dataset['version'] ?? ''
  const response = await fetch(toRoot('../versions.json'))
  if (!response.ok) return
  const versions = (await response.json()) as string[]
  const [newest = version] = versions
  if (versions.length > 1) place.replaceChildren(createVersionMenu(versions, version))
  if (newest !== version) document.querySelector('main')?.prepend(createOldNotice(newest))
}

function createVersionMenu(versions: readonly string[], version: string): HTMLElement {
  const select = document.createElement('select')
  select.setAttribute('aria-label', 'Version')
  select.append(...versions.map((one) => new Option(one, one, one === version, one === version)))
  select.addEventListener('change', () => {
    location.assign(toRoot(`../${select.value}/index.html`))
  })
  return select
}

function createOldNotice(newest: string): HTMLElement {
  const notice = document.createElement('p')
  notice.className = 'notice'
  const link = document.createElement('a')
  link.href = toRoot(`../${newest}/index.html`)
  link.textContent = `The newest is ${newest}.`
  notice.append('This page is about an older version. ', link)
  return notice
}

function start(): void {
  const themeSwitch = document.querySelector<HTMLElement>('[data-theme-switch]')
  if (themeSwitch !== null) startThemeSwitch(themeSwitch)
  const search = document.querySelector<HTMLAnchorElement>('[data-search]')
  if (search !== null) startSearch(search)
  const versions = document.querySelector<HTMLElement>('[data-versions]')
  if (versions !== null) showVersions(versions).catch(() => undefined)
  addCopyButtons()
  watchScrolling()
  markSections()
  closeListsByLinks()
}

start()
