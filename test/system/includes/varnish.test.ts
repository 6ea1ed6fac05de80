import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  type Reload,
  itMatchesColdTable,
  itMatchesCachedTable,
  itExpiresAfterStaleIfError,
  itDropsVisitorHeaders,
  openShown,
} from './outage-cases.ts'
import type { PageRoute } from './fault-proxy.ts'
import { type OriginServer, startOriginServer } from './origin-server.ts'
import { itForwardsFragmentsOnly, itIncludesFragmentsOnly } from './path-restriction.ts'
import { type IncludeFixture, createIncludeFixture } from './include-fixture.ts'
import { describeWithProgram, findFreePort, startProgram } from './program.ts'
import { readRecipe } from './recipe.ts'
import { toHostPage, fetchOutcome } from './page-outcome.ts'

/** The configuration of the Varnish manual: two backends, and ESI for the pages. */
const PLAIN = `vcl 4.1;
backend cms { .host = "127.0.0.1"; .port = "@CMS@"; }
backend vitrine { .host = "127.0.0.1"; .port = "@PROXY@"; }
sub vcl_recv {
  set req.backend_hint = cms;
  if (req.url ~ "^/vitrine/") { set req.backend_hint = vitrine; set req.url = regsub(req.url, "^/vitrine", ""); }
}
sub vcl_backend_response { if (bereq.url ~ "html$") { set beresp.do_esi = true; } }`

const HEADING = 'Varnish (ESI)'

describeWithProgram('varnishd', HEADING, () => {
  let fixture: IncludeFixture
  let cms: OriginServer
  const origins = { plain: '', recommended: '' }
  beforeAll(async () => {
    fixture = await createIncludeFixture()
    cms = fixture.stopLater(await startOriginServer())
    const plain = PLAIN.replace('@CMS@', String(cms.port)).replace('@PROXY@', String(fixture.faultProxy.port))
    const recommended = readRecipe({ heading: HEADING, language: 'vcl' }, [
      ['"8080"', `"${cms.port}"`],
      ['"3000"', `"${fixture.faultProxy.port}"`],
    ])
    origins.plain = await start(fixture, 'plain', plain)
    origins.recommended = await start(fixture, 'recommended', recommended)
  })
  afterAll(() => fixture.dispose())

  const addPage = (origin: string, route?: PageRoute, included = fixture.path): Reload => {
    const name = route?.name ?? fixture.nextName()
    const path = `/${name}.html`
    const include = readRecipe({ heading: HEADING, language: 'html' }, [
      ['/fragments/CHANNEL/where-to-buy/GTIN', included],
      ['limit=3', `limit=3&amp;page=${name}`],
    ])
    cms.pages.set(path, toHostPage(include.trim()))
    return (headers) => fetchOutcome(origin + path, headers, route?.hangTimeout())
  }
  it('a round-up and variants - are shown', async () => {
    await fixture.faultProxy.setMode('shown')
    for (const path of [
      `${fixture.roundUpPath}?label=Best%20overall&label=&sub=p1`,
      `${fixture.path}~17?sub=p1`,
    ]) {
      const page = `/${fixture.nextName()}.html`
      const include = `<esi:include src="/vitrine${path.replaceAll('&', '&amp;')}" />`
      cms.pages.set(page, toHostPage(include))
      expect(await fetchOutcome(origins.recommended + page)).toBe('box')
      expect(fixture.faultProxy.requests.at(-1)?.url).toBe(path)
    }
  })

  const recommended = {
    fixture: () => fixture,
    open: (route?: PageRoute) => Promise.resolve(addPage(origins.recommended, route)),
  }

  itMatchesColdTable('Varnish, plain', {
    fixture: () => fixture,
    open: (route) => addPage(origins.plain, route)(),
  })
  itMatchesColdTable('Varnish, recommended', {
    fixture: () => fixture,
    open: (route) => addPage(origins.recommended, route)(),
  })
  itMatchesCachedTable('Varnish', recommended)
  itExpiresAfterStaleIfError('Varnish', recommended, 'nothing')
  itDropsVisitorHeaders('Varnish', recommended)
  itForwardsFragmentsOnly('Varnish', {
    faultProxy: () => fixture.faultProxy,
    base: () => `${origins.recommended}/vitrine`,
    statuses: [404],
  })
  itIncludesFragmentsOnly('Varnish', {
    faultProxy: () => fixture.faultProxy,
    open: (path) => Promise.resolve(addPage(origins.recommended, undefined, path)),
  })

  it('Varnish - an include with two options - sends them separated by &', async () => {
    await fixture.faultProxy.setMode('shown')
    await openShown({ open: () => recommended.open() })
    expect(fixture.faultProxy.requests.at(-1)?.url).toMatch(/\?layout=card&limit=3&page=/)
  })

  it('Varnish - a fragment requested from outside - is a 404', async () => {
    const response = await fetch(`${origins.recommended}/vitrine${fixture.path}`)
    expect(response.status).toBe(404)
  })
})

async function start(fixture: IncludeFixture, name: string, vcl: string): Promise<string> {
  const port = await findFreePort()
  const folder = join(fixture.folder, name)
  await mkdir(folder)
  await writeFile(join(folder, 'default.vcl'), vcl)
  fixture.stopLater(
    await startProgram({
      command: 'varnishd',
      args: [
        '-F',
        '-n',
        folder,
        '-a',
        `127.0.0.1:${port}`,
        '-f',
        join(folder, 'default.vcl'),
        '-s',
        'malloc,16m',
      ],
      port,
    }),
  )
  return `http://127.0.0.1:${port}`
}
