import { readFile, readdir } from 'node:fs/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { getVitrineBox } from '../integrations/nextjs/vitrine.ts'
import { OPTION_LIST } from '../src/widgets/option-list.ts'

// `URL.canParse` of Node rejects such hosts once it has been optimized.
test('Next.js, server with a non-ASCII host - the box is shown at every visit', async () => {
  const fetched = vi
    .spyOn(globalThis, 'fetch')
    .mockImplementation(() => Promise.resolve(new Response('<p>box</p>')))
  onTestFinished(() => fetched.mockRestore())
  const seen = new Set<string>()
  for (let visits = 0; visits < 100_000; visits += 1)
    seen.add(await getVitrineBox('https://preise.münchen.example/fragments/1/deals'))
  expect(seen).toEqual(new Set(['<p>box</p>']))
})

const WORDPRESS = new URL('../integrations/wordpress/vitrine/', import.meta.url)

test.each(['where-to-buy', 'picks', 'deals'] as const)(
  'WordPress, %s - shortcode and block have exactly the options of the server',
  async (widget) => {
    const rows = OPTION_LIST.filter((row) => row.widget === 'all' || row.widget === widget)
    const names = rows.map(({ name }) => name).toSorted()
    const address = await readFile(new URL('includes/address.php', WORDPRESS), 'utf8')
    const constant = `VITRINE_${widget.replaceAll('-', '_').toUpperCase()}`
    const lists = [/\$common = array\(([^)]*)\)/, new RegExp(`${constant} +=> array\\(([^)]*)\\)`)]
    const listed = lists.flatMap((pattern) => pattern.exec(address)?.[1]?.match(/\w+/g) ?? [])
    expect(listed.toSorted()).toEqual(names)
    const block = await readFile(new URL(`blocks/${widget}/block.json`, WORDPRESS), 'utf8')
    const { attributes } = JSON.parse(block) as Readonly<{ attributes: Readonly<Record<string, unknown>> }>
    const products = { 'where-to-buy': ['gtin'], picks: ['gtins'], deals: [] }[widget]
    const blockNames = Object.keys(attributes).map((name) => (name === 'labels' ? 'label' : name))
    expect(blockNames.toSorted()).toEqual(['channel', ...products, ...names].toSorted())
  },
)

/** Parse the headers, the short description and the sections of a plugin directory's readme. */
function parseReadme(text: string): Readonly<{
  headers: ReadonlyMap<string, string>
  description: string
  sections: ReadonlyMap<string, string>
}> {
  const [top = '', ...parts] = text.split(/^== (?=.* ==$)/m)
  const [head = '', description = ''] = top.split(/\n\n/)
  return {
    headers: new Map(
      [...head.matchAll(/^([\w ]+): (.+)$/gm)].map(([, name = '', value = '']) => [name, value]),
    ),
    description: description.trim(),
    sections: new Map(parts.map((part) => [part.slice(0, part.indexOf(' ==')), part.replace(/^.*\n/, '')])),
  }
}

/** Read the header of the plugin, as WordPress parses it. */
async function readPluginHeaders(): Promise<ReadonlyMap<string, string>> {
  const php = await readFile(new URL('vitrine.php', WORDPRESS), 'utf8')
  return new Map(
    [...php.matchAll(/^ \* ([\w ]+): +(.+)$/gm)].map(([, name = '', value = '']) => [name, value]),
  )
}

const readReadme = async (): Promise<ReturnType<typeof parseReadme>> =>
  parseReadme(await readFile(new URL('readme.txt', WORDPRESS), 'utf8'))

test('WordPress - readme and plugin state the same name, versions and license', async () => {
  const { headers } = await readReadme()
  const plugin = await readPluginHeaders()
  const readme = await readFile(new URL('readme.txt', WORDPRESS), 'utf8')
  const pairs = [
    ['Stable tag', 'Version'],
    ['Requires at least', 'Requires at least'],
    ['Requires PHP', 'Requires PHP'],
    ['License', 'License'],
    ['License URI', 'License URI'],
  ] as const
  for (const [inReadme, inPlugin] of pairs) expect(headers.get(inReadme), inReadme).toBe(plugin.get(inPlugin))
  expect(readme.split('\n')[0]).toBe(`=== ${plugin.get('Plugin Name') ?? ''} ===`)
  expect(plugin.get('Text Domain')).toBe('vitrine')
  const version = plugin.get('Version') ?? ''
  const php = await readFile(new URL('vitrine.php', WORDPRESS), 'utf8')
  expect(php).toContain(`define( 'VITRINE_VERSION', '${version}' );`)
  for (const widget of ['where-to-buy', 'picks', 'deals']) {
    const block = await readFile(new URL(`blocks/${widget}/block.json`, WORDPRESS), 'utf8')
    expect(JSON.parse(block), widget).toMatchObject({ version, textdomain: 'vitrine' })
  }
})

test('WordPress - the readme keeps the limits of the plugin directory', async () => {
  const { headers, description, sections } = await readReadme()
  expect([...headers.keys()]).toEqual([
    'Contributors',
    'Tags',
    'Requires at least',
    'Tested up to',
    'Requires PHP',
    'Stable tag',
    'License',
    'License URI',
  ])
  expect(headers.get('Tags')?.split(', ').length).toBeLessThanOrEqual(5)
  expect(headers.get('Tested up to')).toMatch(/^\d+\.\d+$/)
  expect(description).toMatch(/^[^<>*`\n]{1,150}$/)
  expect((await readPluginHeaders()).get('Description')?.length).toBeLessThan(140)
  expect([...sections.keys()]).toEqual([
    'Description',
    'Installation',
    'Frequently Asked Questions',
    'External services',
    'Screenshots',
    'Changelog',
    'Upgrade Notice',
  ])
  const version = `= ${headers.get('Stable tag') ?? ''} =`
  expect(sections.get('Changelog')).toContain(version)
  expect(sections.get('Upgrade Notice')).toContain(version)
  const notices = (sections.get('Upgrade Notice') ?? '').split(/^= .* =$/m)
  expect(Math.max(...notices.map((notice) => notice.trim().length))).toBeLessThanOrEqual(300)
})

test('WordPress - each screenshot of the readme has its file', async () => {
  const { sections } = await readReadme()
  const captions = [...(sections.get('Screenshots') ?? '').matchAll(/^(\d+)\. .+$/gm)]
  const files = await readdir(new URL('../assets/', WORDPRESS))
  expect(files.toSorted()).toEqual(captions.map(([, number = '']) => `screenshot-${number}.png`))
})

test('WordPress - every PHP file refuses to run outside of WordPress', async () => {
  const files = (await readdir(WORDPRESS, { recursive: true })).filter((name) => name.endsWith('.php'))
  expect(files.length).toBeGreaterThan(10)
  for (const name of files)
    expect(await readFile(new URL(name, WORDPRESS), 'utf8'), name).toMatch(
      /^defined\( '(?:ABSPATH|WP_UNINSTALL_PLUGIN)' \) \|\| exit;$/m,
    )
})
