import { existsSync } from 'node:fs'
import { chown, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import {
  type See,
  itIsAsTheTableSays,
  itKeepsAsTheTableSays,
  itSeesAfterTheLimit,
  itKeepsVisitorsOut,
  openShown,
} from './cases.ts'
import { itHandsOnFragmentsOnly, itIncludesFragmentsOnly } from './outside.ts'
import type { PageLane } from './gate.ts'
import { type Place, openPlace } from './place.ts'
import { describeWithProgram, findFreePort, startProgram } from './program.ts'
import { readRecipe } from './recipe.ts'
import { toHostPage, visit } from './sight.ts'
import { VISITOR_HEADERS, findVisitorHeaders } from './visitor.ts'

/** As in the manual of Apache: includes, and a proxy for the fragments. */
const PLAIN = `ProxyPass /vitrine/ @GATE@/
<Directory @PAGES@>
  Options +Includes
  AddOutputFilter INCLUDES .html
</Directory>`

/** Where distributions keep the modules. */
const MODULE_FOLDERS = ['/usr/lib/apache2/modules', '/usr/libexec/apache2', '/usr/lib64/httpd/modules']
const MODULES = [
  'mpm_event',
  'authz_core',
  'mime',
  'include',
  'proxy',
  'proxy_http',
  'headers',
  'cache',
  'cache_disk',
]

const HEADING = 'Apache (mod_include)'

describeWithProgram('apache2', HEADING, () => {
  let place: Place
  const origins = { plain: '', recommended: '', inner: '' }
  beforeAll(async () => {
    place = await openPlace()
    const pages = join(place.folder, 'pages')
    await mkdir(pages)
    const plain = PLAIN.replace('@GATE@', place.gate.origin).replace('@PAGES@', pages)
    const boxes = join(place.folder, 'boxes')
    await mkdir(boxes)
    if (process.getuid?.() === 0) await chown(boxes, 33, 33)
    const innerPort = await findFreePort()
    origins.inner = `http://127.0.0.1:${innerPort}`
    const recommended = readRecipe({ heading: HEADING, language: 'apache' }, [
      ['127.0.0.1:8081', `127.0.0.1:${innerPort}`],
      ['/var/cache/apache2/vitrine', boxes],
      ['/var/www/html', pages],
      ['127.0.0.1:3000', `127.0.0.1:${place.gate.port}`],
    ])
    origins.plain = await start(place, 'plain', plain)
    origins.recommended = await start(place, 'recommended', recommended)
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
  const recommended = {
    place: () => place,
    open: (lane?: PageLane) => addPage(() => origins.recommended, lane),
  }

  itIsAsTheTableSays('Apache, plain', {
    place: () => place,
    open: async (lane) => (await addPage(() => origins.plain, lane))(),
  })
  itIsAsTheTableSays('Apache, recommended', {
    place: () => place,
    open: async (lane) => (await addPage(() => origins.recommended, lane))(),
  })
  itKeepsAsTheTableSays('Apache', recommended)
  itSeesAfterTheLimit('Apache', recommended, 'box')
  itKeepsVisitorsOut('Apache', recommended)
  itHandsOnFragmentsOnly('Apache', {
    gate: () => place.gate,
    base: () => `${origins.recommended}/vitrine`,
    statuses: [404],
  })
  itHandsOnFragmentsOnly('Apache, the inner virtual host', {
    gate: () => place.gate,
    base: () => origins.inner,
    statuses: [404],
  })
  itIncludesFragmentsOnly('Apache', {
    gate: () => place.gate,
    open: (path) => addPage(() => origins.recommended, undefined, path),
  })

  it('Apache, box kept - no-store, and then an error - the box is gone', async () => {
    place.gate.setMaxAge(1)
    await place.gate.setMode('shown')
    const see = await openShown({ open: () => recommended.open() })
    await place.gate.setMode('unavailable')
    // On a busy machine Apache gives up a refresh now and then, and shows the kept box at the next look.
    const lookOften = async (): Promise<string[]> => [await see(), await see(), await see()]
    await vi.waitFor(async () => expect(await lookOften()).toEqual(['nothing', 'nothing', 'nothing']), {
      interval: 100,
    })
    await place.gate.setMode('500')
    expect(await see()).toBe('nothing')
  })

  it("Apache, plain - a visitor's own headers - reach the server", async () => {
    await place.gate.setMode('shown')
    const see = await addPage(() => origins.plain)
    await see(VISITOR_HEADERS)
    expect(place.gate.requests.flatMap(findVisitorHeaders)).toContain('cookie')
  })
})

async function start(place: Place, name: string, recipe: string): Promise<string> {
  const port = await findFreePort()
  const folder = join(place.folder, name)
  await mkdir(folder)
  const modules = MODULE_FOLDERS.find((path) => existsSync(path)) ?? ''
  const config = `ServerRoot ${folder}
DefaultRuntimeDir ${folder}
PidFile ${folder}/httpd.pid
Listen 127.0.0.1:${port}
ServerName localhost
ErrorLog ${folder}/error.log
${process.getuid?.() === 0 ? 'User www-data\nGroup www-data' : ''}
${MODULES.map((module) => `LoadModule ${module}_module ${modules}/mod_${module}.so`).join('\n')}
TypesConfig /dev/null
AddType text/html .html
StartServers 1
CacheLockPath ${place.folder}/boxes/lock
DocumentRoot ${place.folder}/pages
<Directory ${place.folder}/pages>
  Require all granted
</Directory>
${recipe}
`
  await writeFile(join(folder, 'httpd.conf'), config)
  place.keep(
    await startProgram({
      command: 'apache2',
      args: ['-D', 'FOREGROUND', '-f', join(folder, 'httpd.conf')],
      port,
    }),
  )
  return `http://127.0.0.1:${port}`
}
