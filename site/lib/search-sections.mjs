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
])

/**
 * Return the sections of a page's `<main>`: one for each heading with an id, up to level 3. Elements with `data-unsearched`
 * are left out. `anchor` is empty for the start of the page.
 */
export function readSections(html) {
  const main = find(parse(html), ({ tagName }) => tagName === 'main')
  const sections = [{ anchor: '', heading: '', text: '' }]
  if (main !== undefined) collect(main, sections)
  return sections
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

function collect(node, sections) {
  if (node.nodeName === '#text') sections.at(-1).text += node.value
  if (SKIPPED.has(node.tagName) || hasAttribute(node, 'data-unsearched')) return
  const id = node.attrs?.find(({ name }) => name === 'id')?.value
  if (node.tagName === 'h1') {
    sections[0].heading = readText(node)
    return
  }
  if (/^h[23]$/.test(node.tagName ?? '') && id !== undefined) {
    sections.push({ anchor: id, heading: readText(node), text: '' })
    return
  }
  collectChildren(node, sections)
  if (node.tagName !== undefined && !INLINE.has(node.tagName)) sections.at(-1).text += ' '
}

function collectChildren(node, sections) {
  for (const child of node.childNodes ?? []) collect(child, sections)
}

function readText(node) {
  const part = { anchor: '', heading: '', text: '' }
  collectChildren(node, [part])
  return part.text
}

const hasAttribute = (node, wanted) => node.attrs?.some(({ name }) => name === wanted) ?? false
