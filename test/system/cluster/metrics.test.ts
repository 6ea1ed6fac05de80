import { describe, expect, test, vi } from 'vitest'
import { makeFolder, startRemote } from '../../cli/cli-harness.ts'
import { useOnce } from '../../helpers/at-end.ts'
import { CHANNEL_ID, makeWireProduct } from '../../helpers/fake-catalog.ts'
import { toGtin } from '../../helpers/products.ts'
import { ask, read, startFleet, sumSeries } from './fleet-harness.ts'

const ANSWERS = 'vitrine_http_responses_total'
const SHOWN = 'state="shown"'

describe('sample data', () => {
  const getFleet = useOnce(() => startFleet())
  const readShown = async (): Promise<number> =>
    sumSeries(await read(`${getFleet().publicUrl}/metrics`), ANSWERS, SHOWN)
  const visitBox = async (times: number): Promise<void> => {
    for (let visit = 0; visit < times; visit += 1) expect(await ask(getFleet().box ?? '')).toBe('200 shown')
  }

  test('/metrics of any worker - is the sum of all', async () => {
    await visitBox(60)
    const url = `${getFleet().publicUrl}/metrics`
    const page = await vi.waitFor(async () => {
      const pages = await Promise.all(Array.from({ length: 10 }, () => read(url)))
      expect(new Set(pages.map((text) => sumSeries(text, ANSWERS, SHOWN)))).toEqual(new Set([60]))
      return pages[0] ?? ''
    })
    for (const process of ['primary', 'worker-1', 'worker-2'])
      expect(page).toMatch(new RegExp(`^process_resident_memory_bytes\\{process="${process}"\\} [1-9]`, 'm'))
    expect(sumSeries(page, 'vitrine_workers')).toBe(2)
    expect(sumSeries(page, 'vitrine_store_up')).toBe(1)
    expect(sumSeries(page, 'vitrine_walks_total', 'outcome="complete"')).toBe(3)
    expect(sumSeries(page, 'vitrine_worker_restarts_total')).toBe(0)
  })

  test('studio, shop and pictures - open in every worker', async () => {
    const fleet = getFleet()
    const grid = await read(fleet.box?.replace(/\/where-to-buy.*/, '/deals') ?? '')
    const picture = /"([^"]*\/demo\/pictures\/[^"]+)"/.exec(grid)?.[1] ?? ''
    for (let visit = 0; visit < 20; visit += 1) {
      expect(await ask(picture)).toBe('200 undefined')
      expect(await read(`${fleet.publicUrl}/studio`)).toContain('These are sample data')
    }
  })

  test('reload - what the replaced workers counted stays in the sums', async () => {
    const fleet = getFleet()
    const before = await readShown()
    await visitBox(20)
    fleet.running.child.kill('SIGHUP')
    await vi.waitFor(() => expect(fleet.lines('every worker was replaced')).toHaveLength(1))
    // Who is asked for counts and is late is told with what it said before.
    const page = await vi.waitFor(async () => {
      const text = await read(`${fleet.publicUrl}/metrics`)
      expect(sumSeries(text, ANSWERS, SHOWN)).toBe(before + 20)
      return text
    })
    expect(sumSeries(page, 'vitrine_reloads_total', 'outcome="done"')).toBe(1)
    expect(sumSeries(page, 'vitrine_worker_restarts_total')).toBe(0)
  })

  test('worker that says nothing - the page comes in time with what it said before, and counts that', async () => {
    const fleet = getFleet()
    const url = `${fleet.publicUrl}/metrics`
    const before = await readShown()
    await visitBox(20)
    await vi.waitFor(async () => expect(await readShown()).toBe(before + 20))
    const [silent = 0] = fleet.workerPids()
    process.kill(silent, 'SIGSTOP')
    const page = await read(url)
    process.kill(silent, 'SIGCONT')
    expect(sumSeries(page, ANSWERS, SHOWN)).toBe(before + 20)
    expect(sumSeries(page, 'vitrine_worker_scrape_timeouts_total')).toBeGreaterThanOrEqual(1)
    expect(page).toMatch(/^process_resident_memory_bytes\{process="worker-2"\}/m)
  })

  test('workers that are killed - take nothing out of the sums', async () => {
    const fleet = getFleet()
    const before = await readShown()
    for (const pid of fleet.workerPids()) process.kill(pid, 'SIGKILL')
    await vi.waitFor(async () => expect(await ask(fleet.box ?? '')).toBe('200 shown'))
    // A new worker that is late has said nothing before.
    await vi.waitFor(async () => expect(await readShown()).toBeGreaterThanOrEqual(before + 1))
  })
})

test('walk and calls - are made by one process, and told by every worker', async () => {
  const { catalog, settings } = await startRemote(makeFolder())
  catalog.products.set(
    CHANNEL_ID,
    Array.from({ length: 450 }, (_, index) => makeWireProduct({ gtin: toGtin(index) })),
  )
  const fleet = await startFleet({ ...settings, VITRINE_ADMIN_PASSWORD: 'letmein-please' })
  expect(catalog.countCalls(/products\?/)).toBe(3)
  const url = new URL('/metrics', fleet.publicUrl)
  url.username = 'admin'
  url.password = 'letmein-please'
  await vi.waitFor(async () => {
    const page = await read(url.href)
    // A walk that found another one under way would be one more.
    expect(sumSeries(page, 'vitrine_walks_total')).toBe(1)
    expect(sumSeries(page, 'vitrine_catalog_calls_total', 'operation="products"')).toBe(3)
    expect(sumSeries(page, 'vitrine_copy_products')).toBe(450)
  })
  expect(fleet.lines('walked a channel').map((line) => line['worker'])).toEqual([undefined])
})

test('visitors of both workers at one moment - cost one call a product', async () => {
  const { catalog, settings } = await startRemote(makeFolder())
  const gtins = Array.from({ length: 20 }, (_, index) => toGtin(index))
  catalog.products.set(
    CHANNEL_ID,
    gtins.map((gtin) => makeWireProduct({ gtin })),
  )
  const fleet = await startFleet({
    ...settings,
    VITRINE_SYNC_CRON: 'off',
    VITRINE_VISITOR_TIMEOUT_MS: '5000',
  })
  for (const gtin of gtins) {
    const url = `${fleet.publicUrl}/fragments/${CHANNEL_ID}/where-to-buy/${gtin}`
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => ask(url)))
    expect(new Set(outcomes)).toEqual(new Set(['200 shown']))
  }
  // Who cannot write a claim within a third of a second, as on a machine that stands still, asks by himself (ADR 0005).
  expect(catalog.countCalls(/\/products\/\d/)).toBeLessThan(gtins.length * 1.5)
})
