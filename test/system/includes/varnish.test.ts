import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  type See,
  itIsAsTheTableSays,
  itKeepsAsTheTableSays,
  itSeesAfterTheLimit,
  itKeepsVisitorsOut,
  openShown,
} from './cases.ts'
import type { PageLane } from './gate.ts'
import { type PageOrigin, startPageOrigin } from './pages.ts'
import { itHandsOnFragmentsOnly, itIncludesFragmentsOnly } from './outside.ts'
import { type Place, openPlace } from './place.ts'
import { describeWithProgram, findFreePort, startProgram } from './program.ts'
import { readRecipe } from './recipe.ts'
import { toHostPage, visit } from './sight.ts'

/** As in the manual of Varnish: two backends, and ESI for the pages. */
const PLAIN = `vcl 4.1;
backend cms { .host = "127.0.0.1"; .port = "@CMS@"; }
backend vitrine { .host = "127.0.0.1"; .port = "@GATE@"; }
sub vcl_recv {
  set req.backend_hint = cms;
  if (req.url ~ "^/vitrine/") { set req.backend_hint = vitrine; set req.url = regsub(req.url, "^/vitrine", ""); }
}
sub vcl_backend_response { if (bereq.url ~ "html$") { set beresp.do_esi = true; } }`

const HEADING = 'Varnish (ESI)'

describeWithProgram('varnishd', HEADING, () => {
  let place: Place
  let cms: PageOrigin
  const origins = { plain: '', recommended: '' }
  beforeAll(async () => {
    place = await openPlace()
    cms = place.keep(await startPageOrigin())
    const plain = PLAIN.replace('@CMS@', String(cms.port)).replace('@GATE@', String(place.gate.port))
    const recommended = readRecipe({ heading: HEADING, language: 'vcl' }, [
      ['"8080"', `"${cms.port}"`],
      ['"3000"', `"${place.gate.port}"`],
    ])
    origins.plain = await start(place, 'plain', plain)
    origins.recommended = await start(place, 'recommended', recommended)
  })
  afterAll(() => place.dispose())

  const addPage = (origin: string, lane?: PageLane, included = place.path): See => {
    const name = lane?.name ?? place.nextName()
    const path = `/${name}.html`
    const include = readRecipe({ heading: HEADING, language: 'html' }, [
      ['/fragments/CHANNEL/where-to-buy/GTIN', included],
      ['limit=3', `limit=3&amp;page=${name}`],
    ])
    cms.pages.set(path, toHostPage(include.trim()))
    return (headers) => visit(origin + path, headers, lane?.patience())
  }
  const recommended = {
    place: () => place,
    open: (lane?: PageLane) => Promise.resolve(addPage(origins.recommended, lane)),
  }

  itIsAsTheTableSays('Varnish, plain', {
    place: () => place,
    open: (lane) => addPage(origins.plain, lane)(),
  })
  itIsAsTheTableSays('Varnish, recommended', {
    place: () => place,
    open: (lane) => addPage(origins.recommended, lane)(),
  })
  itKeepsAsTheTableSays('Varnish', recommended)
  itSeesAfterTheLimit('Varnish', recommended, 'nothing')
  itKeepsVisitorsOut('Varnish', recommended)
  itHandsOnFragmentsOnly('Varnish', {
    gate: () => place.gate,
    base: () => `${origins.recommended}/vitrine`,
    statuses: [404],
  })
  itIncludesFragmentsOnly('Varnish', {
    gate: () => place.gate,
    open: (path) => Promise.resolve(addPage(origins.recommended, undefined, path)),
  })

  it('Varnish - an include with two options - asks with & between them', async () => {
    await place.gate.setMode('shown')
    await openShown({ open: () => recommended.open() })
    expect(place.gate.requests.at(-1)?.url).toMatch(/\?layout=card&limit=3&page=/)
  })

  it('Varnish - a fragment asked for from outside - is not there', async () => {
    const answer = await fetch(`${origins.recommended}/vitrine${place.path}`)
    expect(answer.status).toBe(404)
  })
})

async function start(place: Place, name: string, vcl: string): Promise<string> {
  const port = await findFreePort()
  const folder = join(place.folder, name)
  await mkdir(folder)
  await writeFile(join(folder, 'default.vcl'), vcl)
  place.keep(
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
