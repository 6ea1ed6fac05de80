import { renderInline } from './lib/html.mjs'
import { toRelativeLinks } from './lib/links.mjs'
import { LIVE_PAGES } from './lib/live-options.mjs'
import { setUpMarkdown } from './lib/markdown.mjs'

/** More headings than this: the list "On this page" has only those of level 2. */
const MAX_CONTENTS = 24

/**
 * Set up Eleventy: a virtual template for each Markdown page, which stays in its place, and the templates in site/pages/. In
 * templates, an address that begins with `/` is absolute from the folder of the version; the transform makes it relative.
 */
export function setUpEleventy(config, data, { resolveLink }) {
  config.setIncludesDirectory('../layouts')
  config.setDataDirectory('../layouts')
  // A site map has only whole addresses.
  if (data.siteUrl === null) config.ignores.add('site/pages/sitemap.njk')
  config.setTemplateFormats(['njk', 'md'])
  config.setNunjucksEnvironmentOptions({ throwOnUndefined: false, trimBlocks: true, lstripBlocks: true })
  config.amendLibrary('md', (md) => setUpMarkdown(md, resolveLink))
  const basePath = data.siteUrl === null ? '/' : `${new URL(data.siteUrl).pathname.replace(/\/$/, '')}/`
  for (const [name, value] of Object.entries({ ...data, basePath })) config.addGlobalData(name, value)
  addFilters(config, data)
  addMarkdownPages(config, data)
  config.addTransform('relative links', function makeRelative(html) {
    const path = this.page.url.slice(1).replace(/\/$/, '/index.html')
    const [folder, ...rest] = path.split('/')
    return folder === data.version && path.endsWith('.html') ? toRelativeLinks(html, rest.join('/')) : html
  })
}

function addMarkdownPages(config, { sources, version, widgetStyle }) {
  for (const { source, path, content, title, description } of sources) {
    const isHome = path === 'index.html'
    config.addTemplate(`docs/${source.replace(/^docs\//, '')}`, isHome ? toHomeText(content) : content, {
      layout: isHome ? 'home.njk' : 'doc.njk',
      permalink: `${version}/${path}`,
      // Only Markdown: the texts have code of template languages.
      templateEngineOverride: 'md',
      section: /^contribute\/(?:decisions|notes)\//.test(path) ? 'contribute/decisions/index.html' : null,
      source,
      path,
      title,
      description,
      styles: isHome ? [widgetStyle] : [],
      lead: isHome ? toHomeLead(content) : '',
    })
  }
}

/** The start page has its own heading, picture and list of pages. */
function toHomeText(content) {
  const start = content.indexOf('\n\n', content.indexOf('\n\n') + 2)
  const end = content.indexOf('\n## Documentation')
  return content.slice(start, end).replace(/^!\[[^\]]*\]\(docs\/images\/box\.png\)\n/m, '')
}

function toHomeLead(content) {
  return content.split('\n\n')[1] ?? ''
}

function addFilters(config, { navigation, sources }) {
  config.addFilter('inline', renderInline)
  config.addFilter('sentence', (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`)
  config.addFilter('contents', listContents)
  config.addFilter('linkOptions', linkOptions)
  const steps = listSteps(navigation, sources)
  config.addFilter('stepsOf', (path) => findSteps(steps, path))
  config.addFilter('decisions', (list) => list.filter(({ group }) => group === 'contribute/decisions'))
  config.addFilter('notes', (list) => list.filter(({ group }) => group === 'contribute/notes'))
}

/** Return the headings of a rendered page for the list "On this page". */
function listContents(html) {
  const headings = [...html.matchAll(/<h([23]) id="([^"]+)"[^>]*>(.*?)<\/h\1>/gs)].map(
    ([, level, id, content]) => ({
      level: Number(level),
      id,
      text: content.replace(/<span class="option-label">.*<\/span>/, '').replaceAll(/<[^>]+>/g, ''),
    }),
  )
  return headings.length > MAX_CONTENTS ? headings.filter(({ level }) => level === 2) : headings
}

/** The order of "previous" and "next": that of the navigation, and of the decision records. */
function listSteps(navigation, sources) {
  const inNavigation = navigation.flatMap(({ pages }) => pages)
  const decisions = sources.filter(({ group }) => group === 'contribute/decisions')
  return [inNavigation, decisions].map((pages) => pages.map(({ path, title }) => ({ path, title })))
}

function findSteps(lists, path) {
  for (const list of lists) {
    const index = list.findIndex((page) => page.path === path)
    if (index >= 0) return { previous: list[index - 1], next: list[index + 1] }
  }
  return {}
}

const LIVE_NOTE = `<p class="notice">Every option with the real widget: ${LIVE_PAGES.map(
  ({ path, navigationTitle }) => `<a href="/${path}">${navigationTitle.toLowerCase()}</a>`,
).join(', ')}.</p>\n`

/** Link the names in the tables of the page "Options" to their live pictures. The sections have the order of the live pages. */
function linkOptions(html) {
  const [start, ...sections] = html.split(/(?=<h2 )/)
  const linked = sections.map((section, index) =>
    section.replaceAll(
      /<tr>\s*<td><code>(\w+)<\/code><\/td>/g,
      (_row, name) => `<tr>\n<td><a href="/${LIVE_PAGES[index].path}#${name}"><code>${name}</code></a></td>`,
    ),
  )
  return [start, LIVE_NOTE, ...linked].join('')
}
