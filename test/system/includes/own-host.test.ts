import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type BuiltServer, startBuiltServer } from '../../helpers/built-server.ts'
import { useBrowser } from '../use-browser.ts'
import { type IncludeFixture, createIncludeFixture } from './include-fixture.ts'
import { describeWithProgram, findFreePort, startProgram } from './program.ts'
import { readRecipe } from './recipe.ts'

const HEADING = 'Serve from your own domain'

/** nginx with the real server below /shops/ and the publisher's own pages. */
type OwnHost = Readonly<{ origin: string; server: BuiltServer; folder: string }>

const KINDS = [
  ['path kept', 'http://127.0.0.1:3000;'],
  ['path removed', 'http://127.0.0.1:3000/;'],
] as const

describeWithProgram('nginx', HEADING, () => {
  let fixture: IncludeFixture
  const browser = useBrowser()
  const hosts = new Map<string, OwnHost>()
  beforeAll(async () => {
    fixture = await createIncludeFixture()
    for (const [kind, target] of KINDS) hosts.set(kind, await start(fixture, target))
  })
  afterAll(async () => {
    for (const { server } of hosts.values()) await server.stop()
    await fixture.dispose()
  })

  const getHost = (kind: string): OwnHost => {
    const host = hosts.get(kind)
    if (host === undefined) throw new Error(`no host with ${kind}`)
    return host
  }

  it.each(KINDS)(
    '%s - loader, frame, styles and pictures - all come from the page’s own host',
    async (kind) => {
      const { origin, server, folder } = getHost(kind)
      const [, channel = '', gtin = ''] =
        /embeds\/([^/]+)\/where-to-buy\/(\d+)/.exec(server.addresses.box) ?? []
      const page = await browser.newPage()
      const requested: string[] = []
      page.on('request', (request) => requested.push(request.url()))
      await writeFile(
        join(folder, 'article.html'),
        `<!doctype html><title>Article</title><div data-vitrine="where-to-buy" data-channel="${channel}" data-gtin="${gtin}"></div><script async src="/shops/embed.js"></script>`,
      )
      await page.goto(`${origin}/article.html`)
      await expect
        .poll(() => page.evaluate('document.querySelector("iframe")?.offsetHeight ?? 0'))
        .toBeGreaterThan(200)
      expect(requested.length).toBeGreaterThan(4)
      expect(requested.filter((url) => !url.startsWith(`${origin}/`))).toEqual([])
      expect(requested.filter((url) => !url.startsWith(`${origin}/shops/`))).toEqual([
        `${origin}/article.html`,
      ])
    },
  )

  it.each(KINDS)(
    '%s - fragment, oEmbed and links of a sandboxed frame - have the path in every address',
    async (kind) => {
      const { origin, server } = getHost(kind)
      const embed = await (await fetchOk(server.addresses.box)).text()
      const go = /data-vitrine-go="([^"]+)"/.exec(embed)?.[1] ?? ''
      const offer = /data-go="([^"]+)"/.exec(embed)?.[1] ?? ''
      expect(go.startsWith(`${origin}/shops/go/`)).toBe(true)
      const response = await globalThis.fetch(go + offer, { redirect: 'manual' })
      expect(response.status).toBe(302)
      const oembed = await fetchOk(`${origin}/shops/oembed?url=${encodeURIComponent(server.addresses.box)}`)
      expect(await oembed.json()).toMatchObject({ type: 'rich', provider_url: `${origin}/shops` })
      const fragment = await (await fetchOk(server.addresses.box.replace('/embeds/', '/fragments/'))).text()
      const styles = [...fragment.matchAll(/rel="stylesheet" href="([^"]+)"/g)].map(([, href]) => href)
      expect(styles).toHaveLength(1)
      expect((await fetchOk(styles[0] ?? '')).headers.get('content-type')).toContain('text/css')
    },
  )

  it.each(KINDS)('%s - studio and metrics - are closed to requests through the proxy', async (kind) => {
    const { origin } = getHost(kind)
    for (const path of ['/shops/studio', '/shops/metrics'])
      expect((await globalThis.fetch(origin + path)).status, path).toBe(404)
  })
})

async function fetchOk(url: string): Promise<Response> {
  const response = await globalThis.fetch(url)
  expect(response.status, url).toBe(200)
  return response
}

async function start(fixture: IncludeFixture, target: string): Promise<OwnHost> {
  const port = await findFreePort()
  const origin = `http://127.0.0.1:${port}`
  const server = await startBuiltServer({ VITRINE_PUBLIC_URL: `${origin}/shops` })
  const folder = join(fixture.folder, fixture.nextName())
  await mkdir(folder)
  const location = readRecipe({ heading: HEADING, language: 'nginx' }, [
    ['http://127.0.0.1:3000;', target.replace('127.0.0.1:3000', new URL(server.addresses.studio).host)],
  ])
  const configuration = join(folder, 'nginx.conf')
  await writeFile(
    configuration,
    `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
     events {} http { access_log off; types { text/html html; }
       client_body_temp_path ${folder}/1; proxy_temp_path ${folder}/2; fastcgi_temp_path ${folder}/3;
       uwsgi_temp_path ${folder}/4; scgi_temp_path ${folder}/5;
       server { listen 127.0.0.1:${port}; root ${folder}; ${location} } }`,
  )
  fixture.stopLater(
    await startProgram({ command: 'nginx', args: ['-c', configuration, '-e', `${folder}/error.log`], port }),
  )
  return { origin, server, folder }
}
