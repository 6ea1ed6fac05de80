import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { makeFolder, makeSettings, runBuilt, startBuilt, startRemoteCatalog } from '../../cli/run-cli.ts'
import { CHANNEL_ID, makeWireProduct, sendJson } from '../../helpers/fake-catalog.ts'
import type { ServerResponse } from 'node:http'
import { requestOutcome, isAlive, startCluster, startVisitors, waitForResponses } from './cluster-server.ts'

describe('workers, told to stop', () => {
  test('SIGTERM under load - balancers see 503, nobody loses an answer before the listener closes; 0', async () => {
    const fleet = await startCluster()
    const workers = fleet.workerPids()
    const visitors = startVisitors(fleet.box ?? '', 4)
    const balancer = startVisitors(`${fleet.publicUrl}/readyz`, 1)
    await waitForResponses(visitors, 100)
    const { code } = await fleet.running.stop('SIGTERM')
    await Promise.all([visitors.stop(), balancer.stop()])
    expect(code).toBe(0)
    expect(balancer.outcomes.get('503 undefined')).toBeGreaterThan(0)
    const others = [...visitors.outcomes.keys()].filter((outcome) => outcome !== '200 shown')
    expect(others.every((outcome) => outcome === 'ECONNREFUSED' || outcome === 'ECONNRESET')).toBe(true)
    await vi.waitFor(() => expect(workers.filter(isAlive)).toEqual([]))
  })

  test('answer under way, Ctrl-C, which every process of the group is sent - it ends before the processes do, and none was replaced', async () => {
    const { catalog, settings } = await startRemoteCatalog(makeFolder())
    const held: ServerResponse[] = []
    onTestFinished(() => held.forEach((response) => response.destroy()))
    catalog.fault = {
      pathPattern: /\/products\/\d/,
      respond: (_request, response) => void held.push(response),
    }
    const over = {
      VITRINE_SYNC_CRON: 'off',
      VITRINE_VISITOR_TIMEOUT_MS: '9000',
      VITRINE_CATALOG_TIMEOUT_MS: '9000',
    }
    const fleet = await startCluster({ ...settings, ...over })
    const answer = requestOutcome(`${fleet.publicUrl}/fragments/${CHANNEL_ID}/where-to-buy/09521234567899`)
    await vi.waitFor(() => expect(held).toHaveLength(1))
    const ended = once(fleet.running.child, 'exit')
    process.kill(-fleet.primaryPid, 'SIGINT')
    await vi.waitFor(async () =>
      expect(await requestOutcome(`${fleet.publicUrl}/healthz`)).toBe('ECONNREFUSED'),
    )
    for (const response of held) sendJson(response, 200, makeWireProduct())
    expect(await answer).toBe('200 shown')
    expect(await ended).toEqual([0, null])
    expect(fleet.findLogLines('a worker ended')).toEqual([])
  })

  test('SIGTERM to the whole group, as service managers send it - 0, and no worker was replaced', async () => {
    const fleet = await startCluster()
    const ended = once(fleet.running.child, 'exit')
    process.kill(-fleet.primaryPid, 'SIGTERM')
    expect(await ended).toEqual([0, null])
    expect(fleet.findLogLines('a worker ended')).toEqual([])
  })

  test('started by npm, whose shell keeps SIGTERM to itself - ends with the shell', async () => {
    const settings = makeSettings(makeFolder(), { npm_lifecycle_event: 'start', VITRINE_WORKERS: '2' })
    const running = startBuilt(['serve', '--json'], settings, { isInShell: true })
    const { box } = JSON.parse(await running.firstLine) as { box: string }
    expect(await requestOutcome(box)).toBe('200 shown')
    await running.stop('SIGTERM')
    await vi.waitFor(async () => expect(await requestOutcome(box)).toBe('ECONNREFUSED'))
  })

  test('told to stop while the workers start - 0', async () => {
    const settings = makeSettings(makeFolder(), { VITRINE_WORKERS: '2', VITRINE_LOG_LEVEL: 'info' })
    const running = startBuilt(['serve'], settings)
    await vi.waitFor(() => expect(running.output()).toContain('listening'))
    expect((await running.stop('SIGTERM')).code).toBe(0)
  })
})

describe('workers, wrong settings', () => {
  test('port taken - the message and the exit code of one process', async () => {
    const other = createServer()
    other.listen(0, '127.0.0.1')
    await once(other, 'listening')
    onTestFinished(() => void other.close())
    const port = String((other.address() as AddressInfo).port)
    const run = async (workers: string): Promise<unknown> => {
      const over = { VITRINE_PORT: port, VITRINE_WORKERS: workers }
      const { code, err } = await runBuilt(['serve'], makeSettings(makeFolder(), over))
      return { code, err }
    }
    const [one, two] = await Promise.all([run('1'), run('2')])
    expect(one).toMatchObject({ code: 64, err: expect.stringContaining('VITRINE_PORT') })
    expect(two).toEqual(one)
  })

  test.each(['0', '65', 'two', '-1'])('VITRINE_WORKERS=%s - 78, and what is possible', async (text) => {
    const { code, err } = await runBuilt(['serve'], makeSettings(makeFolder(), { VITRINE_WORKERS: text }))
    expect(code).toBe(78)
    expect(err).toContain('VITRINE_WORKERS: expected auto, or a whole number from 1 to 64')
  })

  test('database of the catalog cannot be opened - 1, as with one process', async () => {
    const over = { VITRINE_CATALOG_DATABASE_URL: 'sqlite:/dev/null/x.db', VITRINE_WORKERS: '2' }
    const { code, err } = await runBuilt(['serve'], makeSettings(makeFolder(), over))
    expect(code).toBe(1)
    expect(err).toContain('VITRINE_STORE_FAILED')
  })
})

test('VITRINE_WORKERS=auto - one a core; with one core one process', async () => {
  const fleet = await startCluster(makeSettings(makeFolder(), { VITRINE_WORKERS: 'auto' }))
  const { availableParallelism } = await import('node:os')
  const cores = Math.min(64, availableParallelism())
  expect(fleet.workerPids()).toHaveLength(cores === 1 ? 0 : cores)
  expect(await requestOutcome(fleet.box ?? '')).toBe('200 shown')
})
