import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  type CachingConsumer,
  type Reload,
  itMatchesColdTable,
  itMatchesCachedTable,
  itExpiresAfterStaleIfError,
  itDropsVisitorHeaders,
} from './outage-cases.ts'
import { type PageRoute, startFaultProxy } from './fault-proxy.ts'
import { startHttpsProxy, startDnsServer } from './https-proxy.ts'
import { itForwardsFragmentsOnly, itIncludesFragmentsOnly } from './path-restriction.ts'
import { type IncludeFixture, createIncludeFixture } from './include-fixture.ts'
import { describeWithProgram, findFreePort, findProgram, startProgram } from './program.ts'
import { readRecipe } from './recipe.ts'
import { toHostPage, fetchOutcome } from './page-outcome.ts'
import { VISITOR_HEADERS, findVisitorHeaders } from './visitor.ts'

/** The configuration of the nginx manual: only a location for the fragments. */
const PLAIN = `server {
  listen 127.0.0.1:@PORT@;
  root @FOLDER@/pages;
  location ~ \\.html$ { ssi on; }
  location /vitrine/ { proxy_pass @PROXY@/; }
}`

const HEADING = 'nginx (SSI)'

describeWithProgram('nginx', HEADING, () => {
  let fixture: IncludeFixture
  const origins = { plain: '', recommended: '' }
  beforeAll(async () => {
    fixture = await createIncludeFixture()
    await mkdir(join(fixture.folder, 'pages'))
    origins.plain = await start(fixture, 'plain', (port) =>
      PLAIN.replace('@PORT@', String(port))
        .replace('@FOLDER@', fixture.folder)
        .replace('@PROXY@', fixture.faultProxy.origin),
    )
    origins.recommended = await start(fixture, 'recommended', (port) =>
      toRecommended({ fixture, port, proxyPort: fixture.faultProxy.port }),
    )
  })
  afterAll(() => fixture.dispose())

  /** Add a page whose include has a unique address in every cache. */
  async function addPage(origin: () => string, route?: PageRoute, path = fixture.path): Promise<Reload> {
    const name = route?.name ?? fixture.nextName()
    const include = readRecipe({ heading: HEADING, language: 'html' }, [
      ['/fragments/CHANNEL/where-to-buy/GTIN', `${path}?page=${name}`],
    ])
    await writeFile(join(fixture.folder, 'pages', `${name}.html`), toHostPage(include.trim()))
    return (headers) => fetchOutcome(`${origin()}/${name}.html`, headers, route?.hangTimeout())
  }

  itMatchesColdTable('nginx, plain', {
    fixture: () => fixture,
    open: async (route) => (await addPage(() => origins.plain, route))(),
  })
  itMatchesColdTable('nginx, recommended', {
    fixture: () => fixture,
    open: async (route) => (await addPage(() => origins.recommended, route))(),
  })
  const recommended: CachingConsumer = {
    fixture: () => fixture,
    open: (route) => addPage(() => origins.recommended, route),
  }
  itMatchesCachedTable('nginx', recommended)
  itExpiresAfterStaleIfError('nginx', recommended, 'box')
  itDropsVisitorHeaders('nginx', recommended)
  itForwardsFragmentsOnly('nginx', {
    faultProxy: () => fixture.faultProxy,
    base: () => `${origins.recommended}/vitrine`,
    // Below /fragments/, a rejection is an empty 204, like every failure there.
    statuses: [404, 204],
  })
  itIncludesFragmentsOnly('nginx', {
    faultProxy: () => fixture.faultProxy,
    open: (path) => addPage(() => origins.recommended, undefined, path),
  })

  it('nginx - a round-up with labels - is shown, and the options reach the server unchanged', async () => {
    await fixture.faultProxy.setMode('shown')
    const path = `${fixture.roundUpPath}?label=Best%20overall&label=&sub=p1`
    const name = fixture.nextName()
    const include = readRecipe({ heading: HEADING, language: 'html' }, [
      ['/fragments/CHANNEL/where-to-buy/GTIN', path],
    ])
    await writeFile(join(fixture.folder, 'pages', `${name}.html`), toHostPage(include.trim()))
    expect(await fetchOutcome(`${origins.recommended}/${name}.html`)).toBe('box')
    expect(fixture.faultProxy.requests.at(-1)?.url).toBe(path)
  })

  it('nginx, below a path prefix - one line of the recipe changed - shows the box', async () => {
    const prefixProxy = fixture.stopLater(
      await startFaultProxy({ target: fixture.serverOrigin, prefix: '/widgets' }),
    )
    const origin = await start(fixture, fixture.nextName(), (port) =>
      toRecommended({ fixture, port, proxyPort: prefixProxy.port }).replace(
        'proxy_pass http://vitrine/fragments/;',
        'proxy_pass http://vitrine/widgets/fragments/;',
      ),
    )
    expect(await (await addPage(() => origin))()).toBe('box')
    expect(prefixProxy.requests.at(-1)?.url).toMatch(/^\/widgets\/fragments\//)
  })

  it.skipIf(findProgram('openssl') === undefined).each(['widgets.example', 'widgets.invalid'])(
    'nginx, server by name - %s - starts, and requests over https',
    async (name) => {
      await fixture.faultProxy.setMode('shown')
      const [httpsProxy, dnsServer] = [
        fixture.stopLater(await startHttpsProxy(fixture)),
        fixture.stopLater(await startDnsServer()),
      ]
      const lines = readRecipe({ heading: HEADING, language: 'nginx', index: 1 }, [
        ['127.0.0.53', `127.0.0.1:${dnsServer.port}`],
        ['set $vitrine_host widgets.example', `set $vitrine_host ${name}`],
        ['https://$vitrine_host', `https://$vitrine_host:${httpsProxy.port}`],
        ['/etc/ssl/certs/ca-certificates.crt', httpsProxy.certificate],
      ])
      const origin = await start(fixture, fixture.nextName(), (port) =>
        toRecommended({ fixture, port, proxyPort: 1 }).replace(
          'proxy_pass http://vitrine/fragments/;',
          () => lines,
        ),
      )
      expect(await (await addPage(() => origin))()).toBe(name === 'widgets.example' ? 'box' : 'nothing')
    },
  )

  it('nginx, an upstream whose name does not resolve - does not start', async () => {
    const starting = start(fixture, fixture.nextName(), (port) =>
      toRecommended({ fixture, port, proxyPort: 1 }).replace(
        'server 127.0.0.1:1;',
        'server widgets.invalid:1;',
      ),
    )
    await expect(starting).rejects.toThrow('host not found in upstream "widgets.invalid:1"')
  })

  it("nginx, plain - a visitor's headers - reach the server", async () => {
    await fixture.faultProxy.setMode('shown')
    const reload = await addPage(() => origins.plain)
    await reload(VISITOR_HEADERS)
    expect(fixture.faultProxy.requests.flatMap(findVisitorHeaders)).toContain('cookie')
  })
})

async function start(
  fixture: IncludeFixture,
  name: string,
  toServer: (port: number) => string,
): Promise<string> {
  const port = await findFreePort()
  const folder = join(fixture.folder, name)
  await mkdir(folder)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  )
  const config = `daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log stderr warn;
events {}
http { access_log off; default_type text/html; ${temporary.join(' ')}
${toServer(port)}
}`
  await writeFile(join(folder, 'nginx.conf'), config)
  fixture.stopLater(
    await startProgram({ command: 'nginx', args: ['-p', folder, '-c', join(folder, 'nginx.conf')], port }),
  )
  return `http://127.0.0.1:${port}`
}

function toRecommended({
  fixture,
  port,
  proxyPort,
}: {
  fixture: IncludeFixture
  port: number
  proxyPort: number
}): string {
  return readRecipe({ heading: HEADING, language: 'nginx' }, [
    ['listen 80;', `listen 127.0.0.1:${port};`],
    ['/var/www/html', join(fixture.folder, 'pages')],
    ['/var/cache/nginx/vitrine', join(fixture.folder, `boxes-${port}`)],
    ['127.0.0.1:3000', `127.0.0.1:${proxyPort}`],
  ])
}
