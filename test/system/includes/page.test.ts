import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'
import { COLD_TABLE, CACHED_TABLE } from './outage-cases.ts'
import { PAGE, listHeadings, readRecipe, readTable } from './recipe.ts'

const WAYS = [
  'Loader script',
  'Plain iframe',
  'oEmbed',
  'Serve from your own domain',
  'nginx (SSI)',
  'Varnish (ESI)',
  'Apache (mod_include)',
  'HAProxy error filter',
  'PHP',
  'WordPress',
  'Drupal',
  'Hugo',
  'Eleventy',
  'Next.js',
  'Fetch',
]

/** Blocks of the recipes that no test of this folder runs: commands, and lines of a Next.js page. */
const NOT_RUN = ['Drupal: sh', 'Drupal: text', 'Next.js: tsx']

/** Blocks that tests run, in the order of the page. */
const RUN = [
  'nginx (SSI): nginx',
  'nginx (SSI): html',
  'nginx (SSI): nginx',
  'Varnish (ESI): vcl',
  'Varnish (ESI): html',
  'Apache (mod_include): apache',
  'Apache (mod_include): html',
  'HAProxy error filter: haproxy',
  'HAProxy error filter: http',
  'HAProxy error filter: haproxy',
  'PHP: php',
  'Hugo: go-html-template',
  'Hugo: go-html-template',
  'Hugo: toml',
  'Hugo: go-html-template',
  'Eleventy: js',
  'Eleventy: njk',
  'Next.js: tsx',
  'Fetch: html',
  'Fetch: sh',
]

const tests = readdirSync(join(PACKAGE_FOLDER, 'test/system/includes'))
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => readFileSync(join(PACKAGE_FOLDER, 'test/system/includes', name), 'utf8'))
  .join('\n')

describe('docs/publish/embedding.md', () => {
  it.each(WAYS)('a way to publish: %s - has a section, and the table at the top leads to it', (way) => {
    // WordPress has a separate page.
    expect([...listHeadings(), 'WordPress']).toContain(way)
    const top = PAGE.slice(0, PAGE.indexOf('## URLs and responses'))
    expect(top).toContain(way === 'WordPress' ? '](wordpress.md)' : `](#${toAnchor(way)})`)
  })

  it('links within the page - lead to headings', () => {
    const anchors = [...PAGE.matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor]) => anchor)
    expect(anchors.length).toBeGreaterThan(15)
    const headings = new Set(listHeadings().map(toAnchor))
    expect(anchors.filter((anchor) => !headings.has(anchor ?? ''))).toEqual([])
  })

  it('recipes - each documents its cache, its behavior in an outage, and its pitfalls', () => {
    for (const way of WAYS.slice(4).filter((name) => name !== 'WordPress')) {
      const start = PAGE.indexOf(`\n## ${way}\n`)
      const section = PAGE.slice(start, PAGE.indexOf('\n## ', start + 4))
      for (const word of ['- **Cache:**', '- **Outage:**', '- **Pitfalls:**'])
        expect(section, way).toContain(word)
    }
  })

  it.each([COLD_TABLE, CACHED_TABLE])('the table "%s" - each row - is measured by a test', (table) => {
    const rows = [...readTable(table).keys()]
    expect(rows.length).toBeGreaterThan(8)
    for (const row of rows)
      expect(tests, row).toMatch(new RegExp(`(?:itMatches(?:Cold|Cached)Table\\(|HEADING = )'${row}'`))
  })

  it('blocks of the recipes - are run, or are known not to be', () => {
    expect(listRecipeBlocks().sort()).toEqual([...RUN, ...NOT_RUN].sort())
  })

  it('a recipe - whose text has changed so that a substitution finds nothing - fails', () => {
    expect(() => readRecipe({ heading: 'PHP', language: 'php' }, [['/nowhere', '/x']])).toThrow(
      'has no "/nowhere"',
    )
    expect(() => readRecipe({ heading: 'PHP', language: 'vcl' })).toThrow('has no vcl block')
    expect(() => readRecipe({ heading: 'ASP', language: 'php' })).toThrow('has no heading "ASP"')
  })
})

/** Build the anchor of a heading as GitHub does. */
function toAnchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
}

function listRecipeBlocks(): string[] {
  const recipes = PAGE.slice(PAGE.indexOf('\n## nginx (SSI)\n'))
  let heading = ''
  return [...recipes.matchAll(/^## (.+)$|^```([\w-]+)$/gm)].flatMap(([, title, language]) => {
    if (title !== undefined) heading = title
    return language === undefined ? [] : [`${heading}: ${language}`]
  })
}
