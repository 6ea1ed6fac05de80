import { once } from 'node:events'
import { readFile, readdir } from 'node:fs/promises'
import { type RequestListener, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { getVitrineBox } from '../integrations/nextjs/vitrine.ts'
import { fetchFragment } from '../packages/embed/src/fragment.ts'
import { makeFolder } from './cli/run-cli.ts'
import { defer } from './helpers/defer.ts'

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

/** Read a box with the shortcode of Eleventy. */
async function readWithEleventy(url: string): Promise<string> {
  const { href } = new URL('../integrations/eleventy/vitrine.js', import.meta.url)
  const { vitrinePlugin } = (await import(href)) as {
    vitrinePlugin(config: object, options: object): void
  }
  let read: ((url: string) => Promise<string>) | undefined
  const addAsyncShortcode = (_name: string, shortcode: typeof read): void => void (read = shortcode)
  vitrinePlugin({ on: () => undefined, addAsyncShortcode }, { folder: makeFolder() })
  return read === undefined ? 'no shortcode' : read(url)
}

/** Return the origin of a server that responds in this way. */
async function startOrigin(respond: RequestListener): Promise<string> {
  const server = createServer(respond).listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const LARGEST_BYTES = 1_048_576
const PART = Buffer.alloc(65_536, '<')

/** A box of 1 MiB, which arrives in parts that end within characters. */
const LARGEST_BOX = `<p>${'€'.repeat(349_524)}.`

describe.each([
  ['fetchFragment', (server: string) => fetchFragment('deal-grid', { server, channel: '1' })],
  ['Next.js', (server: string) => getVitrineBox(`${server}/fragments/1/deals`)],
  ['Eleventy', (server: string) => readWithEleventy(`${server}/fragments/1/deals`)],
] as const)('size of a response, %s', (_name, read) => {
  beforeEach(() => {
    vi.spyOn(console, 'warn').mockReturnValue()
    // Without the deadline, only the size can end the request.
    vi.spyOn(AbortSignal, 'timeout').mockReturnValue(new AbortController().signal)
  })
  afterEach(() => void vi.restoreAllMocks())

  test('an endless body - is cancelled, and shows nothing', async () => {
    const closed = defer<boolean>()
    const origin = await startOrigin((_request, response) => {
      let sentBytes = 0
      const write = (): void => {
        // A reader without a limit gets it all, so that this test ends.
        if (sentBytes > 64 * LARGEST_BYTES) return void response.end()
        sentBytes += PART.length
        response.write(PART, write)
      }
      response.on('close', () => closed.resolve(response.writableFinished))
      write()
    })
    expect(await read(origin)).toBe('')
    expect(await closed.promise).toBe(false)
  })

  test('a body of exactly 1 MiB - is shown, and a larger one shows nothing', async () => {
    expect(Buffer.byteLength(LARGEST_BOX)).toBe(LARGEST_BYTES)
    const seen: boolean[] = []
    for (const body of [LARGEST_BOX, `${LARGEST_BOX}.`]) {
      const origin = await startOrigin((_request, response) => response.end(body))
      const html = await read(origin)
      expect(['', LARGEST_BOX].includes(html)).toBe(true)
      seen.push(html !== '')
    }
    expect(seen).toEqual([true, false])
  })
})

const WORDPRESS = new URL('../integrations/wordpress/vitrine/', import.meta.url)

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
