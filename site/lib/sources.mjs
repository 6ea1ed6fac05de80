import { readFile, readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** Pages outside docs/, with their path in the site. The path also determines the group. */
const OTHER_SOURCES = {
  'README.md': 'index',
  'CONTRIBUTING.md': 'contribute/guide',
  'SECURITY.md': 'contribute/security',
  'CHANGELOG.md': 'reference/changelog',
  'docs/glossary.md': 'reference/glossary',
}

/** Short titles for the navigation, where the heading of the page is of no use there. */
const NAVIGATION_TITLES = { 'contribute/guide': 'Guide' }

const MAX_DESCRIPTION_CHARACTERS = 160

/**
 * Read the Markdown pages of the repository from their places. `path` is the address in a version of the site, such as
 * `publish/options.html`; `group` is its first folder, `null` for the start page.
 */
export async function readSources(rootFolder) {
  const inDocs = await readdir(join(rootFolder, 'docs'), { recursive: true })
  const files = inDocs
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file.replaceAll('\\', '/')}`)
  const sources = [...new Set([...Object.keys(OTHER_SOURCES), ...files.toSorted()])]
  return Promise.all(
    sources.map(async (source) => {
      const content = await readFile(join(rootFolder, source), 'utf8')
      return toPage(source, source === 'CHANGELOG.md' ? toReaderChangelog(content) : content)
    }),
  )
}

/** Leave out an empty "Unreleased" and the brackets around versions, which are for tools. */
function toReaderChangelog(content) {
  return content.replace(/^## \[Unreleased\]\s+(?=## )/m, '').replaceAll(/^## \[([^\]]+)\]/gm, '## $1')
}

function toPage(source, content) {
  const path = OTHER_SOURCES[source] ?? source.replace(/^docs\//, '').replace(/\.md$/, '')
  const title = stripMarkdown(/^# (.+)$/m.exec(content)?.[1] ?? basename(path))
  const folder = dirname(path)
  return {
    source,
    path: `${path}.html`,
    group: folder === '.' ? null : folder,
    name: basename(path),
    title,
    navigationTitle: NAVIGATION_TITLES[path] ?? title,
    description: toDescription(content, title),
    content,
  }
}

/** Return the first sentences of the first paragraph, as far as they fit into the description of a page, or the headings. */
function toDescription(content, title) {
  const paragraphs = content.split(/\n{2,}/)
  const headings = [...content.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)
  const first = paragraphs.find((text) => /^[\p{L}*`[]/u.test(text)) ?? `${title}: ${headings.join(', ')}.`
  const sentences = stripMarkdown(first).split(/(?<=[.!?]) (?=\p{Lu})/u)
  let description = sentences[0] ?? ''
  for (const sentence of sentences.slice(1)) {
    if (description.length + sentence.length >= MAX_DESCRIPTION_CHARACTERS) break
    description += ` ${sentence}`
  }
  return description.length <= MAX_DESCRIPTION_CHARACTERS
    ? description
    : `${description.slice(0, MAX_DESCRIPTION_CHARACTERS - 2).replace(/\s+\S*$/, '')} …`
}

function stripMarkdown(text) {
  return text
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[*`]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
}
