import { escapeHtml } from './html.mjs'

const CHANNEL = '952a0000-0000-4000-8000-000000000001'
const BOX = `/fragments/${CHANNEL}/where-to-buy/09520001001024`
const ROUND_UP = `/fragments/${CHANNEL}/picks/09520001001024,09520001002021,09520002001016`
const DEALS = `/fragments/${CHANNEL}/deals`

/** The pages with live options. */
export const LIVE_PAGES = [
  { widget: 'all', name: 'all', title: 'Options of all widgets', base: `${BOX}?limit=2` },
  { widget: 'where-to-buy', name: 'boxes', title: 'Options of boxes', base: `${BOX}?limit=3` },
  { widget: 'picks', name: 'round-ups', title: 'Options of round-ups', base: `${ROUND_UP}?` },
  { widget: 'deals', name: 'deals', title: 'Options of deals', base: `${DEALS}?limit=3` },
].map((page) => ({
  ...page,
  path: `publish/options-${page.name}.html`,
  navigationTitle: page.title.replace('Options of ', '').replace(/^./, (letter) => letter.toUpperCase()),
  description: `${page.title}, each with the real widget.`,
}))

/** Addresses on which an option shows what it does, where that of the page does not. */
const BASES = {
  stock: `${BOX}?limit=50`,
  limit: { 'where-to-buy': `${BOX}?`, deals: `${DEALS}?` },
  else: `/fragments/${CHANNEL}/where-to-buy/09520009999991?limit=3`,
  sort: `${DEALS}?limit=2`,
  page: `${DEALS}?limit=3`,
  brand: `${DEALS}?limit=3`,
}

/** Further examples, beside that of the documentation. */
const MORE_EXAMPLES = {
  locale: ['locale=ja', 'locale=ar'],
  accent: ['accent=7a1f5c'],
  max_price: ['max_price=12'],
}

/** Options that readers do not see: the first lines of the HTML are shown too. */
const LINES_SHOWN = { css: 3, isolate: 3, sub: 1 }

/** Render every option of the list with the sample server, one after the other: each accepted value, otherwise the examples. */
export async function renderLiveOptions({ optionList, describeAccepted, capture, fetchShown }) {
  const pages = []
  for (const page of LIVE_PAGES) {
    const options = []
    for (const option of optionList.filter(({ widget }) => widget === page.widget)) {
      const { control } = option
      const accepts = Array.isArray(control) ? control.map((choice) => `\`${choice}\``) : control
      const examples = []
      for (const query of listExamples(option))
        examples.push(await renderExample({ option, query, page, capture, fetchShown }))
      options.push({ ...option, accepts: describeAccepted(accepts), examples })
    }
    pages.push({ ...page, options })
  }
  return pages
}

function listExamples({ name, control, example }) {
  if (Array.isArray(control)) return control.map((choice) => `${name}=${choice}`)
  return [example, ...(MORE_EXAMPLES[name] ?? [])]
}

async function renderExample({ option, query, page, capture, fetchShown }) {
  const html = await capture(withoutStyles(toAddress(option, query, page)))
  return {
    query,
    html: withOwnName(html.trim(), query),
    isSentence: query === 'layout=inline',
    code: await findCode(option, query, { page, fetchShown }),
  }
}

/** Widgets of the same product have the same name; landmarks of a page need different ones. */
function withOwnName(html, query) {
  return html.replace(/(<section class="vitrine[^>]* aria-label="[^"]*)"/, `$1 (${escapeHtml(query)})"`)
}

function toAddress({ name }, query, { base, widget }) {
  // A row that scrolls needs more cards than fit.
  if (query === 'layout=carousel') return `${DEALS}?limit=8&${query}`
  const special = typeof BASES[name] === 'object' ? BASES[name][widget] : BASES[name]
  const [path, others] = (special ?? base).split('?')
  const kept = others === '' || query.startsWith(others.split('=')[0]) ? [] : [others]
  return `${path}?${[...kept, query].join('&')}`
}

/** The page has the style sheet. Inside a shadow root, the fragment links it. */
function withoutStyles(address) {
  if (address.includes('isolate=shadow')) return address
  return address.includes('css=') ? address.replace(/css=\w+/, 'css=none') : `${address}&css=none`
}

/** Return the part of the HTML that an invisible option changes, or `null`. */
async function findCode(option, query, { page, fetchShown }) {
  if (query === 'markup=schema') {
    const html = await fetchShown(toAddress(option, query, page))
    const json = /<script type="application\/ld\+json">([\s\S]*?)<\/script>/.exec(html)?.[1] ?? '{}'
    return JSON.stringify(JSON.parse(json), null, 2)
  }
  const lines = LINES_SHOWN[option.name]
  if (lines === undefined) return null
  const html = await fetchShown(toAddress(option, query, page))
  return `${html.trim().split('\n').slice(0, lines).join('\n')}\n…`
}

/** Return the live example of a layout of the gallery, such as `deals-grid`. */
export function findLayoutExample(livePages, id) {
  const { widget, options } = livePages.find((page) => id.startsWith(`${page.widget}-`))
  const { examples } = options.find(({ name }) => name === 'layout')
  return examples.find(({ query }) => query === `layout=${id.slice(widget.length + 1)}`)
}

/** The box of the start page. */
export async function renderHomeBox(capture) {
  return (await capture(`${BOX}?limit=4&css=none`)).trim()
}
