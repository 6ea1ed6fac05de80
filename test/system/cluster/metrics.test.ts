import { describe, expect, test, vi } from 'vitest'
import { makeFolder, startRemoteCatalog } from '../../cli/run-cli.ts'
import { setUpOnce } from '../../helpers/cleanup.ts'
import { CHANNEL_ID, makeWireProduct } from '../../helpers/fake-catalog.ts'
import { toGtin } from '../../helpers/products.ts'
import { requestOutcome, fetchText, startCluster, sumSeries } from './cluster-server.ts'

const RESPONSES_METRIC = 'vitrine_http_responses_total'
const SHOWN_LABEL = 'state="shown"'

describe('metrics with sample data', () => {
  const getServer = setUpOnce(() => startCluster())
  const readShownCount = async (): Promise<number> =>
    sumSeries(await fetchText(`${getServer().publicUrl}/metrics`), RESPONSES_METRIC, SHOWN_LABEL)
  const visitBox = async (times: number): Promise<void> => {
    for (let visit = 0; visit < times; visit += 1)
      expect(await requestOutcome(getServer().box ?? '')).toBe('200 shown')
  }

  test('/metrics of any worker - has the sums of all workers', async () => {
    await visitBox(60)
    const url = `${getServer().publicUrl}/metrics`
    const page = await vi.waitFor(async () => {
      const pages = await Promise.all(Array.from({ length: 10 }, () => fetchText(url)))
      expect(new Set(pages.map((text) => sumSeries(text, RESPONSES_METRIC, SHOWN_LABEL)))).toEqual(
        new Set([60]),
      )
      return pages[0] ?? ''
    })
    for (const process of ['primary', 'worker-1', 'worker-2'])
      expect(page).toMatch(new RegExp(`^process_resident_memory_bytes\\{process="${process}"\\} [1-9]`, 'm'))
    expect(sumSeries(page, 'vitrine_workers')).toBe(2)
    expect(sumSeries(page, 'vitrine_store_up')).toBe(1)
    expect(sumSeries(page, 'vitrine_walks_total', 'outcome="complete"')).toBe(3)
    expect(sumSeries(page, 'vitrine_worker_restarts_total')).toBe(0)
  })

  test('studio and pictures - are served by every worker', async () => {
    const server = getServer()
    const grid = await fetchText(server.box?.replace(/\/where-to-buy.*/, '/deals') ?? '')
    const picture = /"([^"]*\/demo\/pictures\/[^"]+)"/.exec(grid)?.[1] ?? ''
    for (let visit = 0; visit < 20; visit += 1) {
      expect(await requestOutcome(picture)).toBe('200 undefined')
      expect(await fetchText(`${server.publicUrl}/studio`)).toContain('Sample data: invented')
    }
  })

  test('reload - the counts of replaced workers stay in the sums', async () => {
    const server = getServer()
    const before = await readShownCount()
    await visitBox(20)
    server.running.child.kill('SIGHUP')
    await vi.waitFor(() => expect(server.findLogLines('all workers were replaced')).toHaveLength(1))
    // If a worker misses the scrape deadline, its previous counts are used.
    const page = await vi.waitFor(async () => {
      const text = await fetchText(`${server.publicUrl}/metrics`)
      expect(sumSeries(text, RESPONSES_METRIC, SHOWN_LABEL)).toBe(before + 20)
      return text
    })
    expect(sumSeries(page, 'vitrine_reloads_total', 'outcome="done"')).toBe(1)
    expect(sumSeries(page, 'vitrine_worker_restarts_total')).toBe(0)
  })

  test('suspended worker - the page uses its previous counts, and counts a scrape timeout', async () => {
    const server = getServer()
    const url = `${server.publicUrl}/metrics`
    const before = await readShownCount()
    await visitBox(20)
    await vi.waitFor(async () => expect(await readShownCount()).toBe(before + 20))
    const [pausedPid = 0] = server.workerPids()
    process.kill(pausedPid, 'SIGSTOP')
    const page = await fetchText(url)
    process.kill(pausedPid, 'SIGCONT')
    expect(sumSeries(page, RESPONSES_METRIC, SHOWN_LABEL)).toBe(before + 20)
    expect(sumSeries(page, 'vitrine_worker_scrape_timeouts_total')).toBeGreaterThanOrEqual(1)
    expect(page).toMatch(/^process_resident_memory_bytes\{process="worker-2"\}/m)
  })

  test('killed workers - do not reduce the sums', async () => {
    const server = getServer()
    const before = await readShownCount()
    for (const pid of server.workerPids()) process.kill(pid, 'SIGKILL')
    await vi.waitFor(async () => expect(await requestOutcome(server.box ?? '')).toBe('200 shown'))
    // A new worker that misses the scrape deadline has no previous counts.
    await vi.waitFor(async () => expect(await readShownCount()).toBeGreaterThanOrEqual(before + 1))
  })
})

test('walk and calls - are made by one process, and every worker has their metrics', async () => {
  const { catalog, settings } = await startRemoteCatalog(makeFolder())
  catalog.products.set(
    CHANNEL_ID,
    Array.from({ length: 450 }, (_, index) => makeWireProduct({ gtin: toGtin(index) })),
  )
  const server = await startCluster({ ...settings, VITRINE_ADMIN_PASSWORD: 'letmein-please' })
  expect(catalog.countCalls(/products\?/)).toBe(3)
  const url = new URL('/metrics', server.publicUrl)
  url.username = 'admin'
  url.password = 'letmein-please'
  await vi.waitFor(async () => {
    const page = await fetchText(url.href)
    // An attempt that found another walk running would also count as a walk.
    expect(sumSeries(page, 'vitrine_walks_total')).toBe(1)
    expect(sumSeries(page, 'vitrine_catalog_calls_total', 'operation="products"')).toBe(3)
    expect(sumSeries(page, 'vitrine_copy_products')).toBe(450)
  })
  expect(server.findLogLines('walked a channel').map((line) => line['worker'])).toEqual([undefined])
})

test('concurrent visitors of both workers - cause one call per product', async () => {
  const { catalog, settings } = await startRemoteCatalog(makeFolder())
  const gtins = Array.from({ length: 20 }, (_, index) => toGtin(index))
  catalog.products.set(
    CHANNEL_ID,
    gtins.map((gtin) => makeWireProduct({ gtin })),
  )
  const server = await startCluster({
    ...settings,
    VITRINE_SYNC_CRON: 'off',
  })
  for (const gtin of gtins) {
    const url = `${server.publicUrl}/fragments/${CHANNEL_ID}/where-to-buy/${gtin}`
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => requestOutcome(url)))
    expect(new Set(outcomes)).toEqual(new Set(['200 shown']))
  }
  // On a stalled machine, a process that cannot take a lease in time calls for itself (ADR 0005).
  expect(catalog.countCalls(/\/products\/\d/)).toBeLessThan(gtins.length * 1.5)
})
