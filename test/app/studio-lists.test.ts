import { describe, expect, test } from 'vitest'
import { makeWireOffer, makeWireProduct } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'
import { findHtmlErrors } from '../helpers/html-errors.ts'
import { toGtin } from '../helpers/products.ts'
import {
  type Element,
  fetchPath,
  findByClass,
  getAttribute,
  getText,
  listElements,
  readVisibleText,
  startHarness,
  stockCatalog,
} from './app-client.ts'
import { readStudio, readStudioAddress, readStudioLink, readWidgetLink } from './studio-page.ts'

const ADMIN = { Authorization: `Basic ${btoa('admin:pass')}` }
const COUNT = 24
/** Sold out at its only shop. */
const SOLD_OUT = toGtin(3)
/** A valid GTIN that no shop sells. */
const UNSOLD = toGtin(90)

/** Start the app with lamps that are sold, one of them sold out. */
async function startStudio(): Promise<Harness> {
  const harness = await startHarness({ settings: { VITRINE_ADMIN_PASSWORD: 'pass' } })
  const products = Array.from({ length: COUNT }, (_, index) =>
    makeWireProduct({
      gtin: toGtin(index + 1),
      title: `Lamp ${index + 1}`,
      offers: [makeWireOffer(toGtin(index + 1) === SOLD_OUT ? { availability: 'sold_out' } : {})],
    }),
  )
  await stockCatalog(harness, products)
  return harness
}

/** A page as a browser without scripts sees it. */
type Page = Readonly<{ path: string; text: string }>

/** Open a page, and follow a redirect. */
async function open(harness: Harness, path: string): Promise<Page> {
  const response = await fetchPath(harness, path, ADMIN)
  if (response.status === 302) return open(harness, `/${response.headers['location'] ?? ''}`)
  expect([path, response.status]).toEqual([path, 200])
  expect(await findHtmlErrors(response.text)).toEqual([])
  expect(readVisibleText(response.text)).not.toMatch(/undefined|null|NaN|\[object/)
  return { path, text: response.text }
}

const hasAttribute = ({ attrs }: Element, name: string): boolean => attrs.some((one) => one.name === name)
const findById = ({ text }: Page, id: string): Element | undefined =>
  listElements(text).find((element) => getAttribute(element, 'id') === id)

/** Read the value of a control that a form submits; `undefined`: none. */
function readControl(element: Element): string | undefined {
  const isUnchecked = getAttribute(element, 'type') === 'checkbox' && !hasAttribute(element, 'checked')
  if (element.tagName === 'input') return isUnchecked ? undefined : getAttribute(element, 'value')
  if (element.tagName !== 'select') return undefined
  const options = element.childNodes.filter((node): node is Element => node.nodeName === 'option')
  const selected = options.find((option) => hasAttribute(option, 'selected')) ?? options[0]
  return selected && getAttribute(selected, 'value')
}

/** The radio buttons of the views are outside of the form. */
const isSubmitted = (element: Element): boolean =>
  element.tagName !== 'meta' &&
  getAttribute(element, 'name') !== '' &&
  getAttribute(element, 'type') !== 'radio'

function addButton(query: URLSearchParams, button: Element | undefined): void {
  if (button === undefined || hasAttribute(button, 'disabled')) throw new Error('the page has no such button')
  if (hasAttribute(button, 'name')) query.append(getAttribute(button, 'name'), getAttribute(button, 'value'))
}

/** Submit the form of a page with a button (`null`: any button without a value), after typing into fields by their id. */
function submit(
  harness: Harness,
  page: Page,
  buttonId: string | null,
  typed: Readonly<Record<string, string>> = {},
): Promise<Page> {
  const query = new URLSearchParams()
  for (const element of listElements(page.text).filter(isSubmitted)) {
    const value = typed[getAttribute(element, 'id')] ?? readControl(element)
    if (value !== undefined) query.append(getAttribute(element, 'name'), value)
  }
  if (buttonId !== null) addButton(query, findById(page, buttonId))
  return open(harness, `/studio?${query.toString()}`)
}

const readQuery = ({ path }: Page): URLSearchParams => new URL(path, 'https://x.example').searchParams
const listLabels = (page: Page): string[] =>
  listElements(page.text)
    .filter((element) => getAttribute(element, 'name') === 'label')
    .map((element) => getAttribute(element, 'value'))
const listRows = ({ text }: Page): string[] =>
  findByClass(text, 'row').map((row) => getAttribute(row, 'id').replace('row-', ''))
describe('round-up without script', () => {
  test('search, add, label, reorder, remove - each action leads to an address with the new list', async () => {
    const harness = await startStudio()
    let page = await open(harness, '/studio?tab=picks')
    expect(readStudio(page.text, '.notice')).toMatch(/^Your list is empty\./)
    expect(readWidgetLink(page.text, 'embed')).toBe('')
    page = await submit(harness, page, 'find-button', { find: 'Lamp 2' })
    page = await submit(harness, page, `add-${toGtin(2)}`)
    expect(readStudio(page.text, '.notice')).toMatch(/^Add one more product/)
    page = await submit(harness, page, `add-${toGtin(21)}`)
    page = await submit(harness, page, 'find-button', { find: 'Lamp 5' })
    page = await submit(harness, page, `add-${toGtin(5)}`, { [`label-${toGtin(21)}`]: 'Best “value” & more' })
    expect(listRows(page)).toEqual([toGtin(2), toGtin(21), toGtin(5)])
    expect(listLabels(page)).toEqual(['', 'Best “value” & more', ''])
    page = await submit(harness, page, `up-${toGtin(5)}`, { [`label-${toGtin(5)}`]: 'Third' })
    expect(listRows(page)).toEqual([toGtin(2), toGtin(5), toGtin(21)])
    expect(listLabels(page)).toEqual(['', 'Third', 'Best “value” & more'])
    expect(readQuery(page).get('gtins')).toBe([toGtin(2), toGtin(5), toGtin(21)].join(','))
    expect([readQuery(page).has('change'), readQuery(page).get('find')]).toEqual([false, 'Lamp 5'])
    page = await submit(harness, page, `remove-${toGtin(2)}`)
    expect(listRows(page)).toEqual([toGtin(5), toGtin(21)])
    expect(listLabels(page)).toEqual(['Third', 'Best “value” & more'])
    const { status, headers, text } = await fetchPath(
      harness,
      new URL(readWidgetLink(page.text, 'fragment')).pathname,
    )
    expect([status, headers['vitrine-state']]).toEqual([200, 'shown'])
    expect(text.indexOf('Lamp 5')).toBeLessThan(text.indexOf('Lamp 21'))
  })

  test('first and last product - cannot be moved beyond the ends', async () => {
    const page = await open(await startStudio(), `/studio?tab=picks&gtins=${toGtin(1)},${toGtin(2)}`)
    const isDisabled = (id: string): boolean | undefined => {
      const button = findById(page, id)
      return button && hasAttribute(button, 'disabled')
    }
    expect(
      [`up-${toGtin(1)}`, `down-${toGtin(1)}`, `up-${toGtin(2)}`, `down-${toGtin(2)}`].map(isDisabled),
    ).toEqual([true, false, false, true])
  })

  test('20 products - adding is closed with a reason; a listed product says so', async () => {
    const gtins = Array.from({ length: 20 }, (_, index) => toGtin(index + 1))
    const harness = await startStudio()
    const page = await open(harness, `/studio?tab=picks&gtins=${gtins.join(',')}&find=Lamp+2`)
    expect(readVisibleText(page.text)).toContain('20 of 20')
    expect(readVisibleText(page.text)).toContain('The list is full: a round-up has at most 20 products.')
    expect(listElements(page.text).some((one) => getAttribute(one, 'id').startsWith('add-'))).toBe(false)
    expect(findByClass(page.text, 'match-listed').map(getText).join()).toContain('In the list')
    const removed = await submit(harness, page, `remove-${toGtin(1)}`)
    expect(listElements(removed.text).some((one) => getAttribute(one, 'id').startsWith('add-'))).toBe(true)
  })

  test('hidden products - the list says which and why, and the page how many', async () => {
    const harness = await startStudio()
    const page = await open(harness, `/studio?tab=picks&gtins=${toGtin(1)},${UNSOLD},${SOLD_OUT}&stock=in`)
    expect(readStudio(page.text, '.remark-missing')).toBe(
      '2 of 3 products are not shown now. The list says why.',
    )
    expect(readStudio(page.text, `#row-${toGtin(1)} .remark`)).toBe('')
    expect(readStudio(page.text, `#row-${UNSOLD} .remark`)).toMatch(
      /^Not shown\. No shop of this channel sells this product/,
    )
    expect(readStudio(page.text, `#row-${SOLD_OUT} .remark`)).toBe(
      'Not shown. The option stock=in hides the only offer of this product.',
    )
    expect(readStudio(page.text, '.why p')).toBe('A round-up is shown: 1 of 3 products, in your order.')
    const none = await open(harness, `/studio?tab=picks&gtins=${UNSOLD},${SOLD_OUT}&stock=in`)
    expect(readStudio(none.text, '.notice')).toBe(
      'Nothing is shown now, and the widget takes no space in a page. The list says why for each product.',
    )
  })

  test('GTIN that no shop sells - can be added by its number; words without a match say so', async () => {
    const harness = await startStudio()
    const page = await open(harness, `/studio?tab=picks&find=${UNSOLD}`)
    expect(listRows(await submit(harness, page, `add-${UNSOLD}`))).toEqual([UNSOLD])
    const none = await open(harness, '/studio?tab=picks&find=submarine')
    expect(readVisibleText(none.text)).toContain('No product of this channel matches "submarine".')
  })

  test('other tabs - keep the list while the user works there', async () => {
    const harness = await startStudio()
    const picks = await open(harness, `/studio?tab=picks&gtins=${toGtin(1)},${toGtin(2)}&label=&label=B`)
    const deals = await open(harness, `/${readStudioLink(picks.text, '.tabs a', 'Deals')}`)
    const changed = await submit(harness, deals, null)
    const back = await open(harness, `/${readStudioLink(changed.text, '.tabs a', 'Round-up')}`)
    expect([listRows(back), listLabels(back)]).toEqual([
      [toGtin(1), toGtin(2)],
      ['', 'B'],
    ])
    // The address to share has only what the tab shows.
    expect(readStudioAddress(deals.text)).not.toContain('gtins')
  })

  test('visit - makes no catalog call for products of the copy', async () => {
    const harness = await startStudio()
    harness.catalog.calls.length = 0
    await open(harness, `/studio?tab=picks&gtins=${toGtin(1)},${toGtin(2)},${UNSOLD}`)
    expect(harness.catalog.calls).toEqual([])
  })

  test.each([
    '?tab=picks&gtins=<b>,"&label=%22%3E%3Cscript%3E',
    `?tab=picks&gtins=${toGtin(1)},${toGtin(2)}&label=%3Cb%3E&sub=%3Cb%3E&heading=%3Cb%3E&layout=x`,
    `?tab=picks&gtins=${toGtin(1)}&change=add+%3Cb%3E`,
  ])('%s - is valid HTML, nothing of it is markup', async (query) => {
    const { text } = await open(await startStudio(), `/studio${query}`)
    expect(text).not.toMatch(/<b>|<script>/)
  })
})

describe('variants and stand-ins without script', () => {
  test('found, added in a role, moved to the other and removed', async () => {
    const harness = await startStudio()
    let page = await open(harness, `/studio?gtin=${toGtin(1)}`)
    page = await submit(harness, page, 'also-find', { also: 'Lamp 5' })
    expect(readWidgetLink(page.text, 'embed')).toContain(`/where-to-buy/${toGtin(1)}`)
    page = await submit(harness, page, `variant-${toGtin(5)}`)
    page = await submit(harness, page, 'also-find', { also: 'Lamp 7' })
    page = await submit(harness, page, `stand-in-${toGtin(7)}`)
    expect(readQuery(page).get('gtin')).toBe(`${toGtin(1)}~${toGtin(5)}`)
    expect(readQuery(page).get('else')).toBe(toGtin(7))
    expect(readWidgetLink(page.text, 'fragment')).toMatch(
      new RegExp(`/${toGtin(1)}~${toGtin(5)}\\?else=${toGtin(7)}$`),
    )
    expect(readStudio(page.text, `#row-${toGtin(5)} .remark`)).toBe('Shown below the first one: 1 offer')
    expect(readStudio(page.text, `#row-${toGtin(7)} .remark`)).toBe(
      'Not needed: the product or a variant is shown',
    )
    page = await submit(harness, page, `variant-${toGtin(7)}`)
    expect([readQuery(page).get('gtin'), readQuery(page).get('else')]).toEqual([
      `${toGtin(1)}~${toGtin(5)}~${toGtin(7)}`,
      null,
    ])
    page = await submit(harness, page, `drop-${toGtin(5)}`)
    expect(readQuery(page).get('gtin')).toBe(`${toGtin(1)}~${toGtin(7)}`)
  })

  test('product that no shop sells - has a box with its stand-in, explained', async () => {
    const harness = await startStudio()
    const page = await open(harness, `/studio?gtin=${UNSOLD}&else=${toGtin(2)}`)
    const summary = `A box is shown: 1 offer of Lamp 2, which stands in for ${UNSOLD}.`
    expect([readStudio(page.text, '.remark-missing'), readStudio(page.text, '.why p')]).toEqual([
      summary,
      summary,
    ])
    expect(readWidgetLink(page.text, 'embed')).toContain(`${UNSOLD}?else=${toGtin(2)}`)
  })

  test('another product - has no variants and stand-ins of the previous one', async () => {
    const harness = await startStudio()
    const page = await open(harness, `/studio?gtin=${toGtin(1)}~${toGtin(5)}&else=${toGtin(7)}`)
    const link = new URLSearchParams(readStudioLink(page.text, 'a.match', toGtin(2)).split('?')[1])
    expect([link.get('gtin'), link.get('else')]).toEqual([toGtin(2), null])
    const found = await submit(harness, page, 'find-button', { find: 'Lamp 9' })
    expect(readWidgetLink(found.text, 'fragment')).toMatch(new RegExp(`/where-to-buy/${toGtin(9)}$`))
  })

  test('preview in a sentence - is that of the first variant with an offer', async () => {
    const harness = await startStudio()
    const page = await open(harness, `/studio?gtin=${UNSOLD}~${toGtin(5)}&else=${toGtin(7)}&layout=inline`)
    const frame = listElements(page.text).find(({ tagName }) => tagName === 'iframe')
    const { text } = await fetchPath(
      harness,
      `/${frame === undefined ? '' : getAttribute(frame, 'src')}`,
      ADMIN,
    )
    expect(text).toContain('vitrine-inline')
  })
})

describe('placement', () => {
  test.each(['', 'tab=picks&', 'tab=deals&'])('%s - is in addresses and snippets', async (tab) => {
    const harness = await startStudio()
    const page = await open(harness, `/studio?${tab}gtins=${toGtin(1)},${toGtin(2)}&sub=article-7`)
    for (const name of ['fragment', 'embed'] as const)
      expect(readWidgetLink(page.text, name)).toContain('sub=article-7')
    expect(readStudio(page.text, '#snippet-loader code')).toContain('data-sub="article-7"')
    expect(readStudio(page.text, '#snippet-wordpress code')).toContain(' sub="article-7"')
  })

  test('invalid - has its message at the field, and is in no address', async () => {
    const page = await open(await startStudio(), '/studio?sub=my+page')
    expect(readStudio(page.text, '#wrong-sub')).toBe(
      '“Placement” accepts 1 to 32 letters of A to Z, digits, hyphens and underscores.',
    )
    expect(readWidgetLink(page.text, 'fragment')).not.toContain('sub')
  })
})
