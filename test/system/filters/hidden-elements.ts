import type { FiltersEngine } from '@ghostery/adblocker'
import type { Page } from 'playwright-core'
import type { LoadedList } from './filter-lists.ts'

/** The effect of the lists on a page. */
export type HidingReport = Readonly<{
  /** Our elements that a list hides, with the matching rules. */
  hidden: readonly string[]
  /** Known markup in the same page that a list should hide but does not. */
  missed: readonly string[]
}>

type Names = Readonly<{ classes: string[]; ids: string[]; hrefs: string[] }>
type HidingResult = Readonly<{ hidden: string[]; missed: string[] }>

/** Collect the elements in the body of the document and in every shadow tree. */
const ELEMENTS = `
  const roots = [document]
  for (const root of roots)
    for (const { shadowRoot } of root.querySelectorAll('*')) if (shadowRoot) roots.push(shadowRoot)
  const elements = roots.flatMap((root) => [...(root.body ?? root).querySelectorAll('*')])`

const READ_NAMES = `(() => {${ELEMENTS}
  return {
    classes: [...new Set(elements.flatMap((element) => [...element.classList]))],
    ids: [...new Set(elements.map(({ id }) => id).filter(Boolean))],
    hrefs: [...new Set(elements.map(({ href }) => href).filter((href) => typeof href === 'string'))],
  }
})()`

/** Add the style sheet to the document and its shadow trees, compare the elements, and remove it. */
const APPLY_STYLES = `(({ css, title }) => {${ELEMENTS}
  const readDisplays = () => elements.map((element) => getComputedStyle(element).display)
  const before = readDisplays()
  const sheets = roots.map((root) => {
    const sheet = document.createElement('style')
    sheet.textContent = css
    ;(root.head ?? root).append(sheet)
    return sheet
  })
  const after = readDisplays()
  const missed = []
  const isHidden = (element) => after[elements.indexOf(element)] === 'none'
  for (const known of document.querySelectorAll('x-known'))
    if (known.title === title)
      for (const element of known.children) if (!isHidden(element)) missed.push(element.outerHTML)
  const selectors = [...sheets[0].sheet.cssRules].map(({ selectorText }) => selectorText)
  const findSelectors = (element) => selectors.filter((selector) => element.matches(selector))
  // An element that was not displayed before cannot disappear, so a matching rule counts.
  const isTouched = (element, index) =>
    before[index] !== after[index] || (before[index] === 'none' && findSelectors(element).length > 0)
  const hidden = elements
    .filter((element, index) => isTouched(element, index) && !element.closest('x-known'))
    .map((element) => {
      const reason = findSelectors(element).join(' and ') || 'a rule for an ancestor'
      return element.cloneNode(false).outerHTML + ' by ' + reason
    })
  for (const sheet of sheets) sheet.remove()
  return { hidden, missed }
})`

const COUNT = `((selector) => {${ELEMENTS}
  return elements.filter((element) => element.matches(selector) && !element.closest('x-known')).length
})`

const INSERT_KNOWN = `((known) => {
  for (const { title, markup } of known) {
    const element = document.createElement('x-known')
    element.title = title
    element.innerHTML = markup
    document.body.append(element)
  }
})`

const HIDING = 'display: none !important;'

/** URL of the page for ad blockers; rules for specific sites do not apply to it. */
const SITE = {
  url: 'https://www.magazine.example/reviews/lamp',
  hostname: 'www.magazine.example',
  domain: 'magazine.example',
}

/** Apply the hiding rules of each list to an open page, one list after the other. */
export async function findHiddenElements(page: Page, lists: readonly LoadedList[]): Promise<HidingReport> {
  const known = lists.map(({ title, hidden }) => ({ title, markup: hidden.join('') }))
  await page.evaluate(`${INSERT_KNOWN}(${JSON.stringify(known)})`)
  const names = await page.evaluate<Names>(READ_NAMES)
  const hidden: string[] = []
  const missed: string[] = []
  for (const { title, engine } of lists) {
    const css = toStyles(engine, names)
    const outcome = await page.evaluate<HidingResult>(`${APPLY_STYLES}(${JSON.stringify({ css, title })})`)
    hidden.push(...outcome.hidden.map((element) => `${title} hides ${element}`))
    missed.push(...outcome.missed.map((element) => `${title} misses ${element}`))
  }
  return { hidden, missed }
}

/** Count the matching elements of a page, also in shadow trees, without the known markup. */
export function countElements(page: Page, selector: string): Promise<number> {
  return page.evaluate<number>(`${COUNT}(${JSON.stringify(selector)})`)
}

/** Build the style sheet of an ad blocker for a page with these names. */
function toStyles(engine: FiltersEngine, names: Names): string {
  const { styles, extended } = engine.getCosmeticsFilters({ ...SITE, ...names, hidingStyle: HIDING })
  if (extended !== undefined && extended.length > 0)
    throw new Error(`These rules cannot be applied by a style sheet: ${JSON.stringify(extended)}`)
  // One CSS rule per selector, because an invalid selector would disable the others of its rule.
  return styles.replaceAll(',\n', ` { ${HIDING} }\n`)
}
