import { parse } from 'parse5'

const SKIPPED = new Set(['script', 'style', 'template', 'svg'])
/** Elements after which words do not join. */
const INLINE = new Set([
  'a',
  'abbr',
  'b',
  'bdi',
  'code',
  'em',
  'i',
  'kbd',
  's',
  'small',
  'span',
  'strong',
  'time',
  'wbr',
])

/**
 * Return the sections of a page's `<main>`: one for each heading with an id, up to level 3, and one for each table row with an
 * id. Elements with `data-unsearched` are left out. `anchor` is empty for the start of the page.
 */
export function readSections(html) {
  const main = find(parse(html), ({ tagName }) => tagName === 'main')
  const sections = [{ anchor: '', heading: '', text: '' }]
  const rows = []
  if (main !== undefined) collect(main, sections, rows)
  return [...sections, ...rows]
    .map(({ anchor, heading, text }) => ({ anchor, heading: tidy(heading), text: tidy(text) }))
    .filter(({ heading, text }) => heading !== '' || text !== '')
}

const tidy = (text) => text.replaceAll(/\s+/g, ' ').trim()

function find(node, isWanted) {
  if (isWanted(node)) return node
  for (const child of node.childNodes ?? []) {
    const found = find(child, isWanted)
    if (found !== undefined) return found
  }
  return undefined
}

function collect(node, sections, rows) {
  const { nodeName, tagName } = node
  if (nodeName === '#text') sections.at(-1).text += node.value
  else if (SKIPPED.has(tagName) || getAttribute(node, 'data-unsearched') !== undefined) return
  else if (tagName === 'h1') sections[0].heading = readText(node)
  else if (isSectionHeading(node))
    sections.push({ anchor: getAttribute(node, 'id'), heading: readText(node), text: '' })
  else if (tagName === 'tr' && getAttribute(node, 'id') !== undefined) rows.push(readRow(node))
  else {
    collectChildren(node, sections, rows)
    if (!INLINE.has(tagName)) sections.at(-1).text += ' '
  }
}

const isSectionHeading = (node) => /^h[23]$/.test(node.nodeName) && getAttribute(node, 'id') !== undefined

function collectChildren(node, sections, rows) {
  for (const child of node.childNodes ?? []) collect(child, sections, rows)
}

function readRow(row) {
  const [name, ...others] = row.childNodes.filter(({ tagName }) => tagName === 'td').map(readText)
  return { anchor: getAttribute(row, 'id'), heading: name, text: others.join(' · ') }
}

function readText(node) {
  const part = { anchor: '', heading: '', text: '' }
  collectChildren(node, [part], [])
  return part.text
}

const getAttribute = (node, wanted) => node.attrs?.find(({ name }) => name === wanted)?.value
