import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type RequestListener, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parseFragment } from 'parse5'
import { describe, expect, onTestFinished, test } from 'vitest'
import { listSnippets } from '../../src/studio/snippets.ts'
import { type Element, getAttribute, listElements } from '../app/app-client.ts'
import { OPTIONS, findCode as find } from './snippet-options.ts'
import { findHtmlErrors } from '../helpers/html-errors.ts'

const run = promisify(execFile)

/** Make a folder that is removed after the test. */
async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-snippet-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

const toRecord = (element: Element | undefined): Record<string, string> =>
  Object.fromEntries((element?.attrs ?? []).map(({ name, value }) => [name, value]))

test('list - the easiest first, each with a label and a note', () => {
  const snippets = listSnippets(OPTIONS)
  expect(snippets.map(({ id }) => id)).toEqual(
    'loader iframe pinned browser wordpress oembed ssi esi php fetch'.split(' '),
  )
  for (const { label, note } of snippets) expect([label, note]).not.toContain('')
  expect(new Set(snippets.map(({ label }) => label)).size).toBe(snippets.length)
})

test('frames - are marked, because a sentence cannot contain them', () => {
  const frames = listSnippets(OPTIONS).filter(({ isFrame }) => isFrame)
  expect(frames.map(({ id }) => id)).toEqual(['loader', 'iframe', 'pinned', 'oembed'])
})

describe('frames', () => {
  test.each(['loader', 'pinned'])('%s - a placeholder with every attribute, then the script', (id) => {
    const elements = listElements(find(id))
    expect(elements.map(({ tagName }) => tagName)).toEqual(['div', 'script'])
    expect(elements[0]?.attrs).toEqual([
      ...OPTIONS.attributes,
      { name: 'data-title', value: OPTIONS.title },
      { name: 'data-height', value: '540' },
      { name: 'style', value: 'min-height:540px;margin-block-end:1.5em' },
    ])
    expect(find(id)).toMatch(/<\/div>\n<script async src=/)
  })

  test('loader - the script at the address that receives fixes', () => {
    expect(toRecord(listElements(find('loader'))[1])).toEqual({
      async: '',
      src: 'https://widgets.example/embed.js',
    })
  })

  test('pinned - the script at its versioned address, with integrity and the CORS mode that it requires', () => {
    expect(toRecord(listElements(find('pinned'))[1])).toEqual({
      async: '',
      src: OPTIONS.pinnedScript.url,
      integrity: OPTIONS.pinnedScript.integrity,
      crossorigin: 'anonymous',
    })
  })

  test('iframe - address, title and fixed height parse back unchanged', () => {
    const elements = listElements(find('iframe'))
    expect(elements).toHaveLength(1)
    expect(toRecord(elements[0])).toEqual({
      src: OPTIONS.embedUrl,
      title: OPTIONS.title,
      width: '100%',
      height: '670',
      loading: 'lazy',
      style: 'border:0;margin-block-end:1.5em',
    })
  })

  test.each(['loader', 'pinned', 'iframe', 'browser'])('%s - is valid HTML', async (id) => {
    const errors = await findHtmlErrors(find(id))
    // Editors that strip styles keep the width attribute, and every browser accepts a percentage in it.
    expect(
      errors.filter((error) => !/^no-inline-style|"width" has invalid value "100%"/.test(error)),
    ).toEqual([])
  })

  test('oEmbed - the address alone', () => {
    expect(find('oembed')).toBe(OPTIONS.embedUrl)
  })
})

describe('comment', () => {
  test.each(['loader', 'iframe', 'pinned', 'browser'])(
    '%s - begins with one HTML comment that names the widget',
    (id) => {
      const [comment, ...others] = parseFragment(find(id)).childNodes
      expect(comment).toMatchObject({
        nodeName: '#comment',
        data: expect.stringMatching(/^ Lumen Arc, [^<>]+ Magazine $/),
      })
      expect(others.map(({ nodeName }) => nodeName)).not.toContain('#comment')
    },
  )

  test('PHP and fetch - one line that nothing ends early', () => {
    for (const id of ['php', 'fetch']) {
      const [line = '', next] = find(id).split('\n')
      expect(line).toMatch(/^(?:<\?php )?\/\/ Lumen Arc, [^<>\u2028]* Magazine$/)
      expect(next).toMatch(/^(?:require_once|try \{$)/)
    }
  })

  test('code without comments - is the plain value', () => {
    for (const id of ['wordpress', 'oembed', 'ssi', 'esi']) expect(find(id)).not.toContain('Lumen')
  })
})

describe('includes', () => {
  const path = OPTIONS.fragmentUrl.slice(OPTIONS.publicUrl.length)

  test('SSI - one comment with the unchanged path below /vitrine', () => {
    const code = find('ssi')
    expect(/^<!--# include virtual="([^"]*)" -->$/.exec(code)?.[1]).toBe(`/vitrine${path}`)
    const nodes = parseFragment(code).childNodes
    expect(nodes.map(({ nodeName }) => nodeName)).toEqual(['#comment'])
  })

  test('ESI - one element whose address parses back unchanged', () => {
    const elements = listElements(find('esi'))
    expect(elements.map(({ tagName }) => tagName)).toEqual(['esi:include'])
    expect(elements[0] && getAttribute(elements[0], 'src')).toBe(`/vitrine${path}`)
    expect(find('esi')).toMatch(/"\/>$/)
  })

  test('public address with a path - the includes omit the path, the others keep it', () => {
    const over = {
      publicUrl: 'https://widgets.example/sub',
      fragmentUrl: 'https://widgets.example/sub/fragments/c/deals',
    }
    expect(find('ssi', over)).toBe('<!--# include virtual="/vitrine/fragments/c/deals" -->')
    expect(find('esi', over)).toBe('<esi:include src="/vitrine/fragments/c/deals"/>')
    expect(find('fetch', over)).toContain("fetch('https://widgets.example/sub/fragments/c/deals'")
    expect(find('loader', over)).toContain('src="https://widgets.example/sub/embed.js"')
  })
})

/** Responses of a test server by path. */
const RESPONSES: Readonly<Record<string, RequestListener>> = {
  '/good': (_request, response) =>
    void response.setHeader('cache-control', 'public, max-age=300').end('<p>new'),
  '/hidden': (_request, response) => void response.setHeader('cache-control', 'public, max-age=300').end(),
  '/no-store': (_request, response) => void response.setHeader('cache-control', 'no-store').end(),
  '/500': (_request, response) => void response.writeHead(500).end('<h1>broken'),
  '/404': (_request, response) => void response.writeHead(404).end('<!-- error -->'),
  '/reset': (request) => void request.socket.destroy(),
  '/hanging': () => undefined,
  '/half': (_request, response) => void response.writeHead(200, { 'content-length': 99 }).write('<p>half'),
}

async function startServer(): Promise<string> {
  const server = createServer((request, response) => RESPONSES[request.url ?? '']?.(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('code for fetch', () => {
  test.each([
    ['/good', '<p>new'],
    ['/hidden', ''],
    ['/no-store', '<p>kept'],
    ['/500', '<p>kept'],
    ['/404', '<p>kept'],
    ['/reset', '<p>kept'],
    ['/hanging', '<p>kept'],
    ['/half', '<p>kept'],
  ])('fetch, server responds with %s - the box is %j, and nothing is thrown', async (path, box) => {
    const origin = await startServer()
    const file = join(await makeFolder(), 'page.mjs')
    const code = find('fetch', { publicUrl: origin, fragmentUrl: `${origin}${path}` })
    // One second is short on a busy machine: responses that do come get more time.
    const codeToRun = ['/hanging', '/half'].includes(path)
      ? code
      : code.replace('timeout(1000)', 'timeout(20000)')
    await writeFile(file, `let box = '<p>kept'\n${codeToRun}\nprocess.stdout.write(box)\n`)
    const { stdout, stderr } = await run(process.execPath, [file], { timeout: 120_000 })
    expect([stdout, stderr]).toEqual([box, ''])
  })

  test('quote and backslash in an address - stay inside the string', () => {
    const over = { fragmentUrl: String.raw`https://widgets.example/fragments/c/deals?q='\x` }
    for (const id of ['php', 'fetch'])
      expect(find(id, over)).toContain(String.raw`'https://widgets.example/fragments/c/deals?q=\'\\x'`)
  })
})

describe('shortcode', () => {
  test('values - cannot end the shortcode or the attribute', () => {
    const code = find('wordpress')
    expect(code).toMatch(/^\[vitrine_deals channel="c" q="[^"[\]<]*"\]$/)
  })
})
