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
 * Return the sections of a page's `<article>`: one for each heading with an id, up to level 3. Elements with `data-unsearched`
 * are left out. `anchor` is empty for the start of the page.
 */
export function readSections(html) {
  const article = find(parse(html), ({ tagName }) => tagName === 'article')
  const sections = [{ anchor: '', heading: '', text: '' }]
  if (article !== undefined) collect(article, sections)
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
  if (/^h[1-3]$/.test(node.tagName ?? '') && id !== undefined) {
    const part = { anchor: '', heading: '', text: '' }
    collectChildren(node, [part])
    if (node.tagName === 'h1') sections[0].heading = part.text
    else sections.push({ anchor: id, heading: part.text, text: '' })
    return
  }
  collectChildren(node, sections)
  if (node.tagName !== undefined && !INLINE.has(node.tagName)) sections.at(-1).text += ' '
}

function collectChildren(node, sections) {
  for (const child of node.childNodes ?? []) collect(child, sections)
}

const hasAttribute = (node, wanted) => node.attrs?.some(({ name }) => name === wanted) ?? false
