import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  type Keeper,
  type See,
  itIsAsTheTableSays,
  itKeepsAsTheTableSays,
  itSeesAfterTheLimit,
  itKeepsVisitorsOut,
} from './cases.ts'
import { type PageLane, startGate } from './gate.ts'
import { startHttps, startNameServer } from './https-front.ts'
import { itHandsOnFragmentsOnly, itIncludesFragmentsOnly } from './outside.ts'
import { type Place, openPlace } from './place.ts'
import { describeWithProgram, findFreePort, findProgram, startProgram } from './program.ts'
import { readRecipe } from './recipe.ts'
import { toHostPage, visit } from './sight.ts'
import { VISITOR_HEADERS, findVisitorHeaders } from './visitor.ts'

/** As in the manual of nginx: a location for the fragments, and nothing else. */
const PLAIN = `server {
  listen 127.0.0.1:@PORT@;
  root @FOLDER@/pages;
  location ~ \\.html$ { ssi on; }
  location /vitrine/ { proxy_pass @GATE@/; }
}`

const HEADING = 'nginx (SSI)'

describeWithProgram('nginx', HEADING, () => {
  let place: Place
  const origins = { plain: '', recommended: '' }
  beforeAll(async () => {
    place = await openPlace()
    await mkdir(join(place.folder, 'pages'))
    origins.plain = await start(place, 'plain', (port) =>
      PLAIN.replace('@PORT@', String(port))
        .replace('@FOLDER@', place.folder)
        .replace('@GATE@', place.gate.origin),
    )
    origins.recommended = await start(place, 'recommended', (port) =>
      toRecommended({ place, port, gatePort: place.gate.port }),
    )
  })
  afterAll(() => place.dispose())

  /** A page of its own with an address of its own in every cache. */
  async function addPage(origin: () => string, lane?: PageLane, path = place.path): Promise<See> {
    const name = lane?.name ?? place.nextName()
    const include = readRecipe({ heading: HEADING, language: 'html' }, [
      ['/fragments/CHANNEL/where-to-buy/GTIN', `${path}?page=${name}`],
    ])
    await writeFile(join(place.folder, 'pages', `${name}.html`), toHostPage(include.trim()))
    return (headers) => visit(`${origin()}/${name}.html`, headers, lane?.patience())
  }

  itIsAsTheTableSays('nginx, plain', {
    place: () => place,
    open: async (lane) => (await addPage(() => origins.plain, lane))(),
  })
  itIsAsTheTableSays('nginx, recommended', {
    place: () => place,
    open: async (lane) => (await addPage(() => origins.recommended, lane))(),
  })
  const recommended: Keeper = {
    place: () => place,
    open: (lane) => addPage(() => origins.recommended, lane),
  }
  itKeepsAsTheTableSays('nginx', recommended)
  itSeesAfterTheLimit('nginx', recommended, 'box')
  itKeepsVisitorsOut('nginx', recommended)
  itHandsOnFragmentsOnly('nginx', {
    gate: () => place.gate,
    base: () => `${origins.recommended}/vitrine`,
    // Below the fragments themselves its refusal is empty, as every failure there.
    statuses: [404, 204],
  })
  itIncludesFragmentsOnly('nginx', {
    gate: () => place.gate,
    open: (path) => addPage(() => origins.recommended, undefined, path),
  })

  it('nginx, below a path prefix - one line of the recipe changed - shows the box', async () => {
    const below = place.keep(await startGate({ target: place.serverOrigin, prefix: '/widgets' }))
    const origin = await start(place, place.nextName(), (port) =>
      toRecommended({ place, port, gatePort: below.port }).replace(
        'proxy_pass http://vitrine/fragments/;',
        'proxy_pass http://vitrine/widgets/fragments/;',
      ),
    )
    expect(await (await addPage(() => origin))()).toBe('box')
    expect(below.requests.at(-1)?.url).toMatch(/^\/widgets\/fragments\//)
  })

  it.skipIf(findProgram('openssl') === undefined).each(['widgets.example', 'widgets.invalid'])(
    'nginx, the server known by name - %s - starts, and asks over https',
    async (name) => {
      await place.gate.setMode('shown')
      const [front, names] = [place.keep(await startHttps(place)), place.keep(await startNameServer())]
      const lines = readRecipe({ heading: HEADING, language: 'nginx', index: 1 }, [
        ['127.0.0.53', `127.0.0.1:${names.port}`],
        ['set $vitrine_host widgets.example', `set $vitrine_host ${name}`],
        ['https://$vitrine_host', `https://$vitrine_host:${front.port}`],
        ['/etc/ssl/certs/ca-certificates.crt', front.certificate],
      ])
      const origin = await start(place, place.nextName(), (port) =>
        toRecommended({ place, port, gatePort: 1 }).replace(
          'proxy_pass http://vitrine/fragments/;',
          () => lines,
        ),
      )
      expect(await (await addPage(() => origin))()).toBe(name === 'widgets.example' ? 'box' : 'nothing')
    },
  )

  it('nginx, an upstream with a name that nobody knows - keeps nginx from starting', async () => {
    const starting = start(place, place.nextName(), (port) =>
      toRecommended({ place, port, gatePort: 1 }).replace('server 127.0.0.1:1;', 'server widgets.invalid:1;'),
    )
    await expect(starting).rejects.toThrow('host not found in upstream "widgets.invalid:1"')
  })

  it("nginx, plain - a visitor's own headers - reach the server", async () => {
    await place.gate.setMode('shown')
    const see = await addPage(() => origins.plain)
    await see(VISITOR_HEADERS)
    expect(place.gate.requests.flatMap(findVisitorHeaders)).toContain('cookie')
  })
})

async function start(place: Place, name: string, toServer: (port: number) => string): Promise<string> {
  const port = await findFreePort()
  const folder = join(place.folder, name)
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
  place.keep(
    await startProgram({ command: 'nginx', args: ['-p', folder, '-c', join(folder, 'nginx.conf')], port }),
  )
  return `http://127.0.0.1:${port}`
}

function toRecommended({ place, port, gatePort }: { place: Place; port: number; gatePort: number }): string {
  return readRecipe({ heading: HEADING, language: 'nginx' }, [
    ['listen 80;', `listen 127.0.0.1:${port};`],
    ['/var/www/html', join(place.folder, 'pages')],
    ['/var/cache/nginx/vitrine', join(place.folder, `boxes-${port}`)],
    ['127.0.0.1:3000', `127.0.0.1:${gatePort}`],
  ])
}
