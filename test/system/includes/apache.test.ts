import { existsSync } from 'node:fs'
import { chown, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import {
  type Reload,
  itMatchesColdTable,
  itMatchesCachedTable,
  itExpiresAfterStaleIfError,
  itDropsVisitorHeaders,
  openShown,
} from './outage-cases.ts'
import { itForwardsFragmentsOnly, itIncludesFragmentsOnly } from './path-restriction.ts'
import type { PageRoute } from './fault-proxy.ts'
import { type IncludeFixture, createIncludeFixture } from './include-fixture.ts'
import { describeWithProgram, findFreePort, startProgram } from './program.ts'
import { readRecipe } from './recipe.ts'
import { toHostPage, fetchOutcome } from './page-outcome.ts'
import { VISITOR_HEADERS, findVisitorHeaders } from './visitor.ts'

/** The configuration of the Apache manual: includes, and a proxy for the fragments. */
const PLAIN = `ProxyPass /vitrine/ @PROXY@/
<Directory @PAGES@>
  Options +Includes
  AddOutputFilter INCLUDES .html
</Directory>`

/** Module folders of various distributions. */
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
  let fixture: IncludeFixture
  const origins = { plain: '', recommended: '', inner: '' }
  beforeAll(async () => {
    fixture = await createIncludeFixture()
    const pages = join(fixture.folder, 'pages')
    await mkdir(pages)
    const plain = PLAIN.replace('@PROXY@', fixture.faultProxy.origin).replace('@PAGES@', pages)
    const boxes = join(fixture.folder, 'boxes')
    await mkdir(boxes)
    if (process.getuid?.() === 0) await chown(boxes, 33, 33)
    const innerPort = await findFreePort()
    origins.inner = `http://127.0.0.1:${innerPort}`
    const recommended = readRecipe({ heading: HEADING, language: 'apache' }, [
      ['127.0.0.1:8081', `127.0.0.1:${innerPort}`],
      ['/var/cache/apache2/vitrine', boxes],
      ['/var/www/html', pages],
      ['127.0.0.1:3000', `127.0.0.1:${fixture.faultProxy.port}`],
    ])
    origins.plain = await start(fixture, 'plain', plain)
    origins.recommended = await start(fixture, 'recommended', recommended)
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
  const recommended = {
    fixture: () => fixture,
    open: (route?: PageRoute) => addPage(() => origins.recommended, route),
  }

  itMatchesColdTable('Apache, plain', {
    fixture: () => fixture,
    open: async (route) => (await addPage(() => origins.plain, route))(),
  })
  itMatchesColdTable('Apache, recommended', {
    fixture: () => fixture,
    open: async (route) => (await addPage(() => origins.recommended, route))(),
  })
  itMatchesCachedTable('Apache', recommended)
  itExpiresAfterStaleIfError('Apache', recommended, 'box')
  itDropsVisitorHeaders('Apache', recommended)
  itForwardsFragmentsOnly('Apache', {
    faultProxy: () => fixture.faultProxy,
    base: () => `${origins.recommended}/vitrine`,
    statuses: [404],
  })
  itForwardsFragmentsOnly('Apache, the inner virtual host', {
    faultProxy: () => fixture.faultProxy,
    base: () => origins.inner,
    statuses: [404],
  })
  itIncludesFragmentsOnly('Apache', {
    faultProxy: () => fixture.faultProxy,
    open: (path) => addPage(() => origins.recommended, undefined, path),
  })

  it('Apache - a round-up - is shown', async () => {
    await fixture.faultProxy.setMode('shown')
    expect(await (await addPage(() => origins.recommended, undefined, fixture.roundUpPath))()).toBe('box')
    expect(fixture.faultProxy.requests.at(-1)?.url).toContain(fixture.roundUpPath)
  })

  it('Apache, with a cached box - no-store, then an error - the box disappears', async () => {
    fixture.faultProxy.setMaxAge(1)
    await fixture.faultProxy.setMode('shown')
    const reload = await openShown({ open: () => recommended.open() })
    await fixture.faultProxy.setMode('unavailable')
    // On a busy machine, Apache sometimes abandons a refresh and shows the cached box again.
    const reloadThrice = async (): Promise<string[]> => [await reload(), await reload(), await reload()]
    await vi.waitFor(async () => expect(await reloadThrice()).toEqual(['nothing', 'nothing', 'nothing']), {
      interval: 100,
    })
    await fixture.faultProxy.setMode('500')
    expect(await reload()).toBe('nothing')
  })

  it("Apache, plain - a visitor's headers - reach the server", async () => {
    await fixture.faultProxy.setMode('shown')
    const reload = await addPage(() => origins.plain)
    await reload(VISITOR_HEADERS)
    expect(fixture.faultProxy.requests.flatMap(findVisitorHeaders)).toContain('cookie')
  })
})

async function start(fixture: IncludeFixture, name: string, recipe: string): Promise<string> {
  const port = await findFreePort()
  const folder = join(fixture.folder, name)
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
CacheLockPath ${fixture.folder}/boxes/lock
DocumentRoot ${fixture.folder}/pages
<Directory ${fixture.folder}/pages>
  Require all granted
</Directory>
${recipe}
`
  await writeFile(join(folder, 'httpd.conf'), config)
  fixture.stopLater(
    await startProgram({
      command: 'apache2',
      args: ['-D', 'FOREGROUND', '-f', join(folder, 'httpd.conf')],
      port,
    }),
  )
  return `http://127.0.0.1:${port}`
}
