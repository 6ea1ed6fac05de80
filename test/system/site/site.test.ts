import { readFileSync, readdirSync } from 'node:fs'
import { join, posix } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { type SearchPage, createSearch } from '../../../site/browser/search-index.ts'
import { OPTION_LIST } from '../../../src/widgets/option-list.ts'
import { findHtmlErrors } from '../../helpers/html-errors.ts'
import { getShared } from '../shared.ts'
import { QUESTIONS } from './questions.ts'
import { type BuiltSite, SITE_URL } from './start-site.ts'

let site: BuiltSite
/** All pages by their path in the site. */
const pages = new Map<string, string>()
const files = new Set<string>()

beforeAll(async () => {
  site = await getShared('documentation')
  for (const entry of readdirSync(site.folder, { recursive: true, encoding: 'utf8' })) {
    const path = entry.replaceAll('\\', '/')
    files.add(path)
    if (path.endsWith('.html')) pages.set(path, readFileSync(join(site.folder, path), 'utf8'))
  }
})

const getPage = (path: string): string => pages.get(`${site.version}/${path}`) ?? `missing: ${path}`

const listIds = (html: string): ReadonlySet<string> =>
  new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id ?? ''))

/** Return what is wrong with an address in a page, or `null`. */
function findProblem(from: string, address: string): string | null {
  const [path = '', hash] = address.replaceAll('&amp;', '&').split('#')
  const target = path === '' ? from : posix.join(posix.dirname(from), decodeURI(path))
  if (!files.has(target)) return `${from}: no file: ${address}`
  if (hash === undefined || hash === '') return null
  return listIds(pages.get(target) ?? '').has(decodeURIComponent(hash))
    ? null
    : `${from}: no anchor: ${address}`
}

describe('links', () => {
  test('every internal link - leads to a file and an anchor', () => {
    const problems = [...pages].flatMap(([from, html]) =>
      // 404.html is served at any path, so that it has a base.
      [...html.matchAll(/(?<!<base) (?:href|src)="(?!https?:|mailto:)([^"]*)"/g)].map(([, address = '']) =>
        findProblem(from, address),
      ),
    )
    expect(pages.size).toBeGreaterThan(100)
    expect(problems.filter((problem) => problem !== null)).toEqual([])
  })

  test('pages - load nothing from other hosts, and no address depends on the place of the site', () => {
    for (const [path, html] of pages) {
      expect(html, path).not.toMatch(/ (?:src|srcset)="(?:https?:)?\/\//)
      expect(html, path).not.toMatch(/<link rel="(?:stylesheet|icon)" href="(?:https?:)?\/\//)
      expect(html, path).not.toMatch(/ (?:href|src)="\/(?!vitrine\/")/)
    }
  })

  test('every page of docs/ - is in the site', () => {
    const sources = readdirSync('docs', { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.md'),
    )
    const shown = new Set([...pages.values()].map((html) => /Source: <code>([^<]+)/.exec(html)?.[1]))
    expect(sources.filter((file) => !shown.has(`docs/${file.replaceAll('\\', '/')}`))).toEqual([])
  })
})

describe('markup', () => {
  test('every page but the gallery - two validators - no error', async () => {
    for (const [path, html] of pages) {
      if (/\/gallery\/.+-\w+\.html|^0\.0\//.test(path)) continue
      const errors = await findHtmlErrors(html)
      // GitHub's anchor of a version in the changelog begins with its number.
      const isAnchorOfVersion = /^valid-id, .*"\d+---\d/
      expect(
        errors.filter((error) => !isAnchorOfVersion.test(error)),
        path,
      ).toEqual([])
    }
  })

  test('a page of the gallery - two validators - no error', async () => {
    expect(await findHtmlErrors(getPage('gallery/where-to-buy-inline.html'))).toEqual([])
  })

  test('pages - have their own title, a description and a canonical address', () => {
    const ofVersion = [...pages].filter(([path]) => path.startsWith(`${site.version}/`))
    const titles = ofVersion.map(([, html]) => /<title>([^<]+)/.exec(html)?.[1])
    expect(new Set(titles).size).toBe(titles.length)
    for (const [path, html] of ofVersion) {
      expect(html, path).toMatch(/<meta name="description" content="[^"]{10,161}"/)
      expect(html, path).toContain(`<link rel="canonical" href="${SITE_URL}/${path}">`)
      expect(html.match(/<h1[ >]/g), path).toHaveLength(1)
    }
  })
})

describe('live options', () => {
  const PAGES = { all: 'all', 'where-to-buy': 'boxes', picks: 'round-ups', deals: 'deals' } as const

  test.each(OPTION_LIST.map((option) => [option.name, option.widget, option] as const))(
    '%s of %s - is shown with the widget, each accepted value',
    (name, widget, { control, example }) => {
      const html = getPage(`publish/options-${PAGES[widget]}.html`)
      const section = html
        .split('<section class="option">')
        .find((part) => part.includes(`<h2 id="${name}">`))
      const queries = Array.isArray(control)
        ? (control as readonly string[]).map((choice) => `${name}=${choice}`)
        : [example]
      for (const query of queries)
        expect(section).toContain(`<figcaption><code>${query.replaceAll('&', '&amp;')}</code>`)
      expect(section?.match(/class="vitrine[ "-]/g)?.length).toBeGreaterThanOrEqual(queries.length)
    },
  )

  test('names of the tables - link to the live option', () => {
    const html = getPage('publish/options.html')
    for (const { name, widget } of OPTION_LIST)
      expect(html).toContain(`/publish/options-${PAGES[widget]}.html#${name}"`)
  })
})

describe('gallery', () => {
  test('list - has the live widget of each layout beside its link', () => {
    const sections = getPage('gallery/index.html').split('<section>').slice(1)
    const links = sections.map((section) => /<a href="\.\.\/gallery\/([^"]+)"/.exec(section)?.[1])
    const layouts = [...pages.keys()].flatMap((path) => /\/gallery\/(.+-[a-z]+\.html)$/.exec(path)?.[1] ?? [])
    expect(new Set(links)).toEqual(new Set(layouts))
    expect(links.length).toBeGreaterThan(5)
    for (const section of sections) expect(section).toMatch(/class="vitrine[ "-]/)
  })
})

describe('changelog', () => {
  test('versions - have no brackets, and an empty "Unreleased" is left out', () => {
    const html = getPage('reference/changelog.html')
    expect(html).toMatch(/<h2 [^>]+><a [^>]+>\d+\.\d+\.\d+ - /)
    expect(html).not.toMatch(/<h2 [^>]+><a [^>]+>\[/)
    expect(html).not.toMatch(/Unreleased<\/a><\/h2>\s*<h2/)
  })
})

describe('versions', () => {
  test('an older version in the folder - is kept and listed', () => {
    const text = readFileSync(join(site.folder, 'versions.json'), 'utf8')
    expect(JSON.parse(text)).toEqual([site.version, '0.0'])
    expect(files.has('0.0/index.html')).toBe(true)
  })

  test('start of the site - redirects to the newest version, without a script', () => {
    expect(pages.get('index.html')).toContain(`content="0; url=${site.version}/index.html"`)
    expect(pages.get('index.html')).not.toContain('<script')
  })

  test('404.html - finds its files from any path', () => {
    expect(pages.get('404.html')).toContain('<base href="/vitrine/">')
  })

  test('site map - lists the pages by whole addresses', () => {
    const map = readFileSync(join(site.folder, 'sitemap.xml'), 'utf8')
    const addresses = [...map.matchAll(/<loc>([^<]+)<\/loc>/g)].map(([, address = '']) => address)
    expect(addresses.length).toBeGreaterThan(60)
    expect(new Set(addresses).size).toBe(addresses.length)
    for (const address of addresses) expect(files).toContain(address.replace(`${SITE_URL}/`, ''))
  })
})

describe('interfaces', () => {
  test.each([
    ['catalog-openapi', 'docs/operate/openapi.json'],
    ['openapi', 'docs/publish/openapi.json'],
  ])('page %s - has every path and schema of %s', (name, file) => {
    const html = getPage(`reference/${name}.html`)
    const { paths, components } = JSON.parse(readFileSync(file, 'utf8')) as {
      paths: object
      components: { schemas: object }
    }
    for (const path of Object.keys(paths)) expect(html).toContain(`<code>${path}</code>`)
    for (const name of Object.keys(components.schemas))
      expect(html).toContain(`id="schema-${name.toLowerCase()}"`)
    expect(html).not.toMatch(/undefined|\[object|NaN/)
  })
})

describe('search', () => {
  let search: ReturnType<typeof createSearch>
  beforeAll(() => {
    const text = readFileSync(join(site.folder, site.version, 'search.json'), 'utf8')
    search = createSearch(JSON.parse(text) as SearchPage[])
  })

  test.each(QUESTIONS)('%s - the answer is among the first three results', (question, path, anchor) => {
    const results = search(question).slice(0, 3)
    expect(results.map((result) => result.path)).toContain(path)
    expect(findProblem(`${site.version}/index.html`, `${path}#${anchor}`)).toBeNull()
  })

  test.each([
    ['postgress', 'operate/configuration.html'],
    ['stale-while', 'operate/cdn.html'],
  ])('%s - a typing error, a part of a word - is found', (query, path) => {
    expect(search(query).map((result) => result.path)).toContain(path)
  })

  test('the name of a setting - its row is first', () => {
    const [first] = search('VITRINE_JSON')
    expect(first?.hits[0]).toMatchObject({
      href: 'operate/configuration.html#vitrine_json',
      heading: 'VITRINE_JSON',
      text: expect.stringMatching(/^off · one of off, on · /) as string,
    })
  })

  test.each(['', '  ', 'how do i', 'qqqqzzzz'])('%j - finds nothing', (query) => {
    expect(search(query)).toEqual([])
  })

  test('hits - lead to sections that exist', () => {
    const hits = ['price', 'feed', 'error', 'option']
      .flatMap((query) => search(query))
      .flatMap(({ hits }) => hits)
    expect(hits.length).toBeGreaterThan(30)
    for (const { href } of hits) expect(findProblem(`${site.version}/index.html`, href)).toBeNull()
  })
})
