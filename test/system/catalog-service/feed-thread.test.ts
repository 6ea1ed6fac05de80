import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { fetchFeedStates } from '../../../src/catalog-service/feeds/feed-warnings.ts'
import { fetchFeedAttempts } from '../../../src/catalog-service/store/feed-attempts.ts'
import { openCatalogStore } from '../../../src/catalog-service/store/open-store.ts'
import { systemClock } from '../../../src/clock.ts'
import { PRICE_MAX_AGE, createTable } from '../../catalog-service/feeds/feed-fixture.ts'
import { type FeedHandler, send, startFeedServer } from '../../catalog-service/feeds/feed-server.ts'
import { makeFolder, makeSettings, runBuilt, startBuilt } from '../../cli/run-cli.ts'
import { addCleanup } from '../../helpers/cleanup.ts'

const CHANNEL = '952a0000-0000-4000-8000-00000000000a'

type Moment = 'start' | 'download'

/** Runs a statement in the thread of a feed's run, before it has the lease (`start`) or with it (`download`). */
const makeThreadScript = (moment: Moment, statement: string): string => `
const { isMainThread, workerData } = require('node:worker_threads')
const { subscribe } = require('node:diagnostics_channel')
const run = () => setImmediate(() => { ${statement} })
if (!isMainThread && workerData?.feedId !== undefined)
  ${moment === 'start' ? 'run()' : "subscribe('http.client.response.finish', run)"}
`

/** The run checks its folder with `lstatSync`. */
const BREAK_FOLDER = `
  require('node:fs').lstatSync = () => { throw new TypeError('damage') }
  require('node:module').syncBuiltinESMExports()
`

/** Create a catalog with a feed that is due, and open it. */
async function createCatalog(respond: FeedHandler) {
  const folder = makeFolder()
  const settings = makeSettings(folder, { VITRINE_LOG_LEVEL: 'info', VITRINE_FEED_TOKEN: 'do-not-tell' })
  const server = await startFeedServer(respond)
  const address = `${server.url}/\${TOKEN}`
  const added = await runBuilt(
    ['catalog', 'feeds', 'add', 'main', '--url', address, '--channel', CHANNEL],
    settings,
  )
  expect(added, added.err).toMatchObject({ code: 0 })
  const database = { kind: 'sqlite', path: join(folder, 'catalog.db') } as const
  const store = await openCatalogStore({ database, clock: systemClock })
  addCleanup(() => store.close())
  return { settings, server, store }
}

describe.each([[['serve']], [['catalog', 'serve']]])('vitrine %j', (command) => {
  test('feed that is due - is run in a thread, which writes and logs its result', async () => {
    const { settings, server, store } = await createCatalog(send(createTable(3)))
    const running = startBuilt(command, settings)
    await vi.waitFor(() => expect(running.output()).toContain('feed imported'))
    expect(await fetchFeedStates(store, PRICE_MAX_AGE)).toMatchObject([
      { name: 'main', status: 'ok', rows: 3, offers: 3, error: null },
    ])
    expect(running.output()).toMatch(/"feed":"main","products":3,"offers":3,"removedOffers":0,"rejected":0/)
    expect(server.requests.map(({ url }) => url)).toEqual(['/do-not-tell'])
    expect(await running.stop('SIGTERM')).toEqual({ code: 0 })
    expect(running.output()).not.toContain('do-not-tell')
  })

  test('feed that fails - is logged and recorded without the secret', async () => {
    const { settings, store } = await createCatalog(send('', {}, 403))
    const running = startBuilt(command, settings)
    await vi.waitFor(() => expect(running.output()).toContain('feed run failed'))
    const states = await fetchFeedStates(store, PRICE_MAX_AGE)
    expect(states).toMatchObject([{ status: 'failed', errorCode: 'VITRINE_FEED_FETCH_FAILED' }])
    expect(await running.stop('SIGTERM')).toEqual({ code: 0 })
    expect(running.output() + JSON.stringify(states)).not.toContain('do-not-tell')
  })

  test.each([
    ['ends at its start', 'start', 'process.exit(1)', 'its thread ended without a result'],
    ['ends', 'download', 'process.exit(1)', 'its thread ended without a result'],
    ['throws', 'download', "throw new Error('damage')", 'its thread failed: '],
    ['has a bug in the run', 'start', BREAK_FOLDER, 'its thread failed: TypeError'],
  ] as const)('thread that %s - is logged and recorded, and the server goes on', async (...row) => {
    const [, moment, statement, reason] = row
    const { settings, store } = await createCatalog((_request, response) => {
      response.writeHead(200).write('gtin,')
    })
    const script = join(makeFolder(), 'end-thread.cjs')
    writeFileSync(script, makeThreadScript(moment, statement))
    const running = startBuilt(command, { ...settings, NODE_OPTIONS: `--require ${script}` })
    await vi.waitFor(() => expect(running.output()).toContain(reason))
    await vi.waitFor(async () =>
      expect(await fetchFeedStates(store, PRICE_MAX_AGE)).toMatchObject([
        { status: 'failed', errorCode: 'VITRINE_FEED_THREAD_FAILED' },
      ]),
    )
    const attempts = [...(await fetchFeedAttempts(store)).values()]
    expect(attempts).toMatchObject([{ failureCount: 1, isRunning: false }])
    expect(await running.stop('SIGTERM')).toEqual({ code: 0 })
  })

  test('stopped during a download - ends the run, releases the lease and exits with 0', async () => {
    let closed: Promise<unknown> | undefined
    const { settings, store } = await createCatalog((_request, response) => {
      closed = once(response, 'close')
      response.writeHead(200).write('gtin,')
    })
    const running = startBuilt(command, settings)
    await vi.waitFor(() => expect(closed).toBeDefined())
    expect(await running.stop('SIGTERM')).toEqual({ code: 0 })
    await closed
    // The attempt is as if it had not begun: the feed is due at the next start.
    expect([...(await fetchFeedAttempts(store)).values()]).toEqual([])
  })
})
