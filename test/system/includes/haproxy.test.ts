import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  type CachingConsumer,
  type Reload,
  type Consumer,
  itMatchesColdTable,
  itMatchesCachedTable,
  itDropsVisitorHeaders,
} from './outage-cases.ts'
import { startHttpsProxy } from './https-proxy.ts'
import { itForwardsFragmentsOnly } from './path-restriction.ts'
import type { PageRoute } from './fault-proxy.ts'
import { type IncludeFixture, createIncludeFixture } from './include-fixture.ts'
import { describeWithProgram, findFreePort, findProgram, startProgram } from './program.ts'
import { type Substitution, readRecipe } from './recipe.ts'
import { PAGE_TIMEOUT_MS, classifyBox } from './page-outcome.ts'

const HEADING = 'HAProxy error filter'
const SERVER_LINE = '  server vitrine 127.0.0.1:3000\n'

describeWithProgram('haproxy', HEADING, () => {
  let fixture: IncludeFixture
  let origin: string
  beforeAll(async () => {
    fixture = await createIncludeFixture()
    origin = await start(fixture, ['127.0.0.1:3000', `127.0.0.1:${fixture.faultProxy.port}`])
  })
  afterAll(() => fixture.dispose())

  const addPage = (route?: PageRoute): Reload => {
    const url = `${origin}${fixture.path}?page=${route?.name ?? fixture.nextName()}`
    return async (headers = {}) => {
      const signal = route?.hangTimeout() ?? AbortSignal.timeout(PAGE_TIMEOUT_MS)
      const response = await fetch(url, { headers, signal })
      return response.status === 200 ? classifyBox(await response.text()) : 'error text'
    }
  }
  const consumer: Consumer = { fixture: () => fixture, open: (route) => addPage(route)() }
  const cachingConsumer: CachingConsumer = {
    isSynchronous: true,
    fixture: () => fixture,
    open: (route) => Promise.resolve(addPage(route)),
  }

  itMatchesColdTable(HEADING, consumer)
  itMatchesCachedTable(HEADING, cachingConsumer)
  itDropsVisitorHeaders(HEADING, cachingConsumer)
  // HAProxy responds to rejected requests like to failures: empty.
  itForwardsFragmentsOnly(HEADING, {
    faultProxy: () => fixture.faultProxy,
    base: () => origin,
    statuses: [200],
  })

  it.each(['500', 'reset', 'down', 'hang'] as const)(
    '%s - the empty response - has no-store',
    async (mode) => {
      // First get a response of HAProxy itself, after which it may close the connection instead of responding.
      await fixture.faultProxy.setMode('500')
      await (await fetch(`${origin}${fixture.path}`)).text()
      await fixture.faultProxy.setMode(mode)
      const { headers } = await fetch(`${origin}${fixture.path}?page=${fixture.nextName()}`)
      expect(headers.get('cache-control')).toBe('no-store')
    },
  )

  it('a round-up and variants - are shown', async () => {
    await fixture.faultProxy.setMode('shown')
    for (const path of [`${fixture.roundUpPath}?label=Best%20overall&label=&sub=p1`, `${fixture.path}~17`]) {
      expect(classifyBox(await (await fetch(origin + path)).text())).toBe('box')
      expect(fixture.faultProxy.requests.at(-1)?.url).toBe(path)
    }
  })

  it('a box - requested twice - is fetched once', async () => {
    fixture.faultProxy.setMaxAge(null)
    await fixture.faultProxy.setMode('shown')
    const reload = addPage()
    const before = fixture.faultProxy.requests.length
    expect([await reload(), await reload()]).toEqual(['box', 'box'])
    expect(fixture.faultProxy.requests.length - before).toBe(1)
  })

  it.skipIf(findProgram('openssl') === undefined)(
    'a server over https - is available over http',
    async () => {
      await fixture.faultProxy.setMode('shown')
      const httpsProxy = fixture.stopLater(await startHttpsProxy(fixture))
      const line = readRecipe({ heading: HEADING, language: 'haproxy', index: 1 }, [
        ['widgets.example:443', `localhost:${httpsProxy.port}`],
        ['/etc/ssl/certs/ca-certificates.crt', httpsProxy.certificate],
      ])
      const url = `${await start(fixture, [SERVER_LINE, line])}${fixture.path}`
      expect(classifyBox(await (await fetch(url)).text())).toBe('box')
    },
  )

  it('a server whose name does not resolve - does not prevent the start', async () => {
    const line = readRecipe({ heading: HEADING, language: 'haproxy', index: 1 }, [
      ['widgets.example:443', 'widgets.invalid:443'],
    ])
    const response = await fetch(`${await start(fixture, [SERVER_LINE, line])}${fixture.path}`)
    expect([response.status, await response.text()]).toEqual([200, ''])
  })
})

async function start(fixture: IncludeFixture, server: Substitution): Promise<string> {
  const port = await findFreePort()
  const folder = join(fixture.folder, fixture.nextName())
  await mkdir(folder)
  const none = join(folder, 'none.http')
  await writeFile(none, readRecipe({ heading: HEADING, language: 'http' }).replaceAll('\n', '\r\n'))
  const config = readRecipe({ heading: HEADING, language: 'haproxy' }, [
    ['127.0.0.1:8081', `127.0.0.1:${port}`],
    ['/etc/haproxy/none.http', none],
    server,
  ])
  await writeFile(join(folder, 'haproxy.cfg'), config)
  fixture.stopLater(
    await startProgram({ command: 'haproxy', args: ['-db', '-f', join(folder, 'haproxy.cfg')], port }),
  )
  return `http://127.0.0.1:${port}`
}
