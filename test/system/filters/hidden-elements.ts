import type { FiltersEngine } from '@ghostery/adblocker'
import type { Page } from 'playwright-core'
import type { LoadedList } from './filter-lists.ts'

/** What the lists did to a page. */
export type HidingReport = Readonly<{
  /** Elements of ours that a list has hidden, with the rules that match them. */
  hidden: readonly string[]
  /** Known markup that a list ought to have hidden in the same page, and has not. */
  missed: readonly string[]
}>

type Names = Readonly<{ classes: string[]; ids: string[]; hrefs: string[] }>
type HidingResult = Readonly<{ hidden: string[]; missed: string[] }>

/** Elements of the document and of every shadow tree in it, but for the head and the known markup. */
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

/** Puts the style sheet into the document and its shadow trees, compares, and takes it out again. */
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
  // What was not displayed before cannot disappear: there a matching rule counts.
  const isTouched = (element, index) =>
    before[index] !== after[index] || (before[index] === 'none' && findSelectors(element).length > 0)
  const hidden = elements
    .filter((element, index) => isTouched(element, index) && !element.closest('x-known'))
    .map((element) => {
      const reason = findSelectors(element).join(' and ') || 'a rule about what is around it'
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

/** Where ad blockers think that the page is: rules for single sites are none of ours. */
const SITE = {
  url: 'https://www.magazine.example/reviews/lamp',
  hostname: 'www.magazine.example',
  domain: 'magazine.example',
}

/** Looks at an open page with the hiding rules of each list, one list after the other. */
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

/** How many elements of a surveyed page match, those in shadow trees too. */
export function countElements(page: Page, selector: string): Promise<number> {
  return page.evaluate<number>(`${COUNT}(${JSON.stringify(selector)})`)
}

/** The style sheet that an ad blocker makes for a page with these names in it. */
function toStyles(engine: FiltersEngine, names: Names): string {
  const { styles, extended } = engine.getCosmeticsFilters({ ...SITE, ...names, hidingStyle: HIDING })
  if (extended !== undefined && extended.length > 0)
    throw new Error(`Rules that no style sheet can carry: ${JSON.stringify(extended)}`)
  // One rule for each selector: one that the browser cannot read does not take others with it.
  return styles.replaceAll(',\n', ` { ${HIDING} }\n`)
}
