import type { ServerResponse } from 'node:http'
import request from 'supertest'
import { expect, test, vi } from 'vitest'
import { CHANNEL, createTable, toGtin } from '../../catalog-service/feeds/feed-fixture.ts'
import { send, startFeedServer } from '../../catalog-service/feeds/feed-server.ts'
import { makeFolder, makeSettings, runBuilt, startBuilt } from '../../cli/run-cli.ts'

const ROWS = 5_000
const PATHS = [
  `where-to-buy/${toGtin(1)}`,
  `where-to-buy/${toGtin(ROWS)}`,
  `where-to-buy/${toGtin(ROWS + 1)}?else=${toGtin(2)}`,
  `picks/${toGtin(3)},${toGtin(ROWS - 1)}`,
]

/** Return the states of all boxes. */
async function readStates(publicUrl: string): Promise<readonly string[]> {
  const responses = await Promise.all(
    PATHS.map((path) => request(publicUrl).get(`/fragments/${CHANNEL}/${path}`)),
  )
  return responses.map(({ headers }) =>
    headers['cache-control'] === 'no-store'
      ? `${headers['vitrine-state']}, no-store`
      : String(headers['vitrine-state']),
  )
}

const UNAVAILABLE = PATHS.map(() => 'unavailable, no-store')
const SHOWN = PATHS.map(() => 'shown')

test.each(['1', '2'])(
  'new server with a feed, %s process(es) - boxes are unavailable until the feed is walked, never hidden',
  async (workers) => {
    const table = createTable(ROWS)
    const pending: ServerResponse[] = []
    const feeds = await startFeedServer((_request, response) => void pending.push(response))
    const over = {
      VITRINE_LOG_LEVEL: 'info',
      VITRINE_WORKERS: workers,
      // On a busy machine, the state of the copy is not read within the limit of the program: not hidden either.
      VITRINE_VISITOR_TIMEOUT_MS: undefined,
    }
    const settings = makeSettings(makeFolder(), over)
    const add = ['catalog', 'feeds', 'add', 'main', '--url', feeds.url, '--channel', CHANNEL]
    const added = await runBuilt(add, settings)
    expect(added, added.err).toMatchObject({ code: 0 })

    const running = startBuilt(['serve', '--json'], settings)
    // It is printed after the first walk, which finds nothing.
    const { publicUrl } = JSON.parse(await running.firstLine) as { publicUrl: string }
    expect(running.output()).toContain('walked a channel')
    expect(await readStates(publicUrl)).toEqual(UNAVAILABLE)
    await vi.waitFor(() => expect(pending).toHaveLength(1))
    expect(await readStates(publicUrl)).toEqual(UNAVAILABLE)

    for (const response of pending) send(table)({} as never, response)
    const seen = new Set<string>()
    await vi.waitFor(async () => {
      const states = await readStates(publicUrl)
      for (const state of states) seen.add(state)
      expect(states).toEqual(SHOWN)
    })
    expect([...seen]).not.toContain('hidden')
    expect((await running.stop('SIGTERM')).code).toBe(0)
  },
)
