import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { makeFolder, makeSettings, runBuilt, startBuilt, startRemoteCatalog } from '../../cli/run-cli.ts'
import { CHANNEL_ID, makeWireProduct, sendJson } from '../../helpers/fake-catalog.ts'
import type { ServerResponse } from 'node:http'
import {
  ENDED_MESSAGE,
  requestOutcome,
  isAlive,
  startCluster,
  startVisitors,
  waitForResponses,
} from './cluster-server.ts'

describe('stopping a cluster', () => {
  test('SIGTERM under load - /readyz is 503, no response is lost before the port closes, exits with 0', async () => {
    const server = await startCluster()
    const workers = server.workerPids()
    const visitors = startVisitors(server.box ?? '', 4)
    const balancer = startVisitors(`${server.publicUrl}/readyz`, 1)
    await waitForResponses(visitors, 100)
    const { code } = await server.running.stop('SIGTERM')
    await Promise.all([visitors.stop(), balancer.stop()])
    expect(code).toBe(0)
    expect(balancer.outcomes.get('503 undefined')).toBeGreaterThan(0)
    const others = [...visitors.outcomes.keys()].filter((outcome) => outcome !== '200 shown')
    expect(others.every((outcome) => outcome === 'ECONNREFUSED' || outcome === 'ECONNRESET')).toBe(true)
    await vi.waitFor(() => expect(workers.filter(isAlive)).toEqual([]))
  })

  test('Ctrl-C with a pending response, sent to the whole process group - the response is completed, and no worker is replaced', async () => {
    const { catalog, settings } = await startRemoteCatalog(makeFolder())
    const pendingResponses: ServerResponse[] = []
    onTestFinished(() => pendingResponses.forEach((response) => response.destroy()))
    catalog.fault = {
      pathPattern: /\/products\/\d/,
      respond: (_request, response) => void pendingResponses.push(response),
    }
    const overrides = {
      VITRINE_SYNC_CRON: 'off',
      VITRINE_VISITOR_TIMEOUT_MS: '9000',
      VITRINE_CATALOG_TIMEOUT_MS: '9000',
    }
    const server = await startCluster({ ...settings, ...overrides })
    const outcome = requestOutcome(`${server.publicUrl}/fragments/${CHANNEL_ID}/where-to-buy/09521234567899`)
    await vi.waitFor(() => expect(pendingResponses).toHaveLength(1))
    const ended = once(server.running.child, 'exit')
    process.kill(-server.primaryPid, 'SIGINT')
    await vi.waitFor(async () =>
      expect(await requestOutcome(`${server.publicUrl}/healthz`)).toBe('ECONNREFUSED'),
    )
    for (const response of pendingResponses) sendJson(response, 200, makeWireProduct())
    expect(await outcome).toBe('200 shown')
    expect(await ended).toEqual([0, null])
    expect(server.findLogLines(ENDED_MESSAGE)).toEqual([])
  })

  test('SIGTERM to the whole process group, as service managers send it - exits with 0, and no worker is replaced', async () => {
    const server = await startCluster()
    const ended = once(server.running.child, 'exit')
    process.kill(-server.primaryPid, 'SIGTERM')
    expect(await ended).toEqual([0, null])
    expect(server.findLogLines(ENDED_MESSAGE)).toEqual([])
  })

  test('started by npm, whose shell does not forward SIGTERM - exits with the shell', async () => {
    const settings = makeSettings(makeFolder(), { npm_lifecycle_event: 'start', VITRINE_WORKERS: '2' })
    const running = startBuilt(['serve', '--json'], settings, { isInShell: true })
    const { box } = JSON.parse(await running.firstLine) as { box: string }
    expect(await requestOutcome(box)).toBe('200 shown')
    await running.stop('SIGTERM')
    await vi.waitFor(async () => expect(await requestOutcome(box)).toBe('ECONNREFUSED'))
  })

  test('SIGTERM while the workers start - exits with 0', async () => {
    const settings = makeSettings(makeFolder(), { VITRINE_WORKERS: '2', VITRINE_LOG_LEVEL: 'info' })
    const running = startBuilt(['serve'], settings)
    await vi.waitFor(() => expect(running.output()).toContain('listening'))
    expect((await running.stop('SIGTERM')).code).toBe(0)
  })
})

describe('a cluster with invalid settings', () => {
  test('port in use - same message and exit code as with one process', async () => {
    const other = createServer()
    other.listen(0, '127.0.0.1')
    await once(other, 'listening')
    onTestFinished(() => void other.close())
    const port = String((other.address() as AddressInfo).port)
    const run = async (workers: string): Promise<unknown> => {
      const settings = { VITRINE_PORT: port, VITRINE_WORKERS: workers }
      const { code, err } = await runBuilt(['serve'], makeSettings(makeFolder(), settings))
      return { code, err }
    }
    const [one, two] = await Promise.all([run('1'), run('2')])
    expect(one).toMatchObject({ code: 1, err: expect.stringContaining('VITRINE_PORT') })
    expect(two).toEqual(one)
  })

  test.each(['0', '65', 'two', '-1'])(
    'VITRINE_WORKERS=%s - exits with 78 and lists the valid values',
    async (text) => {
      const { code, err } = await runBuilt(['serve'], makeSettings(makeFolder(), { VITRINE_WORKERS: text }))
      expect(code).toBe(78)
      expect(err).toContain('VITRINE_WORKERS: expected auto, or a whole number from 1 to 64')
    },
  )

  test('catalog database that cannot be opened - exits with 1, as with one process', async () => {
    const settings = { VITRINE_CATALOG_DATABASE_URL: 'sqlite:/dev/null/x.db', VITRINE_WORKERS: '2' }
    const { code, err } = await runBuilt(['serve'], makeSettings(makeFolder(), settings))
    expect(code).toBe(1)
    expect(err).toContain('VITRINE_STORE_FAILED')
  })
})

test('VITRINE_WORKERS=auto - one worker per core; a single process with one core', async () => {
  const server = await startCluster(makeSettings(makeFolder(), { VITRINE_WORKERS: 'auto' }))
  const { availableParallelism } = await import('node:os')
  const cores = Math.min(64, availableParallelism())
  expect(server.workerPids()).toHaveLength(cores === 1 ? 0 : cores)
  expect(await requestOutcome(server.box ?? '')).toBe('200 shown')
})
