import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { toDay } from '../src/offers/price-history.ts'
import { PACKAGE_FOLDER } from '../src/lib/files.ts'
import { openStoredCopy } from '../src/storage/stored-copy.ts'
import { BOX, GTIN, makeProductOnSale, fetchPath } from './app/app-client.ts'
import { CHANNEL_ID } from './helpers/fake-catalog.ts'
import { NOON_MS, createHarness } from './helpers/harness.ts'

test('stop right after the first request of a box - its look-up is stored', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-context-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'copy.db')
  const harness = await createHarness({ settings: { VITRINE_DATABASE_URL: `sqlite:${path}` } })
  harness.catalog.products.set(CHANNEL_ID, [makeProductOnSale({ title: 'Seen last' })])
  expect((await fetchPath(harness, BOX)).text).toContain('Seen last')
  const catalog = harness.catalog.url
  await harness.dispose()
  const store = await openStoredCopy({ database: { kind: 'sqlite', path }, catalog })
  onTestFinished(() => store.close())
  expect((await store.findProduct(CHANNEL_ID, GTIN))?.product?.title).toBe('Seen last')
})

test('stop while another process looks a product up - the store is not used after it is closed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-context-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const settings = { VITRINE_DATABASE_URL: `sqlite:${join(folder, 'copy.db')}`, VITRINE_WORKERS: '2' }
  const firstServer = await createHarness({ settings })
  const { catalog } = firstServer
  const expectOneCall = (): void => expect(catalog.countCalls(/\/products\//)).toBe(1)
  catalog.fault = { pathPattern: /\/products\//, respond: () => {} }
  void fetchPath(firstServer, BOX)
  await vi.waitFor(expectOneCall)
  const catalogConnection = { baseUrl: catalog.url, key: firstServer.context.key, copyName: catalog.url }
  const secondServer = await createHarness({ settings, over: { catalog: catalogConnection } })
  const { store } = secondServer.context
  const findProduct = vi.spyOn(store, 'findProduct')
  const box = fetchPath(secondServer, BOX)
  await vi.waitFor(() => expect(findProduct.mock.calls.length).toBeGreaterThan(2))
  await secondServer.dispose()
  await box
  expect(secondServer.logs()).not.toContain('"level":50')
  await firstServer.dispose()
})

test('stop right after a response was counted - the count is stored', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-context-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'copy.db')
  const harness = await createHarness({ settings: { VITRINE_DATABASE_URL: `sqlite:${path}` } })
  harness.catalog.products.set(CHANNEL_ID, [makeProductOnSale()])
  await fetchPath(harness, BOX)
  await harness.context.waitForWrites()
  harness.context.coverage.countWidget({ channelId: CHANNEL_ID, gtin: GTIN, sub: 'a', state: 'shown' })
  await harness.dispose()
  const store = await openStoredCopy({ database: { kind: 'sqlite', path }, catalog: harness.catalog.url })
  onTestFinished(() => store.close())
  const today = toDay(NOON_MS)
  expect(
    await store.listPlacements(CHANNEL_ID, { fromDay: today, untilDay: today, gtins: [GTIN] }),
  ).toContainEqual({ gtin: GTIN, sub: 'a', shown: 1, hidden: 0, unavailable: 0 })
})

test('sub-ids file - gives the rules, and is part of the version of responses', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-context-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const ownPath = join(folder, 'sub-ids.json')
  const net = { hosts: ['go.example'], maxCharacters: 20, forms: [{ parameter: 'ref' }] }
  writeFileSync(ownPath, JSON.stringify({ net }))
  const versions = new Set<string>()
  const positions: unknown[] = []
  for (const path of ['', join(PACKAGE_FOLDER, 'deploy/sub-ids.json'), ownPath]) {
    const harness = await createHarness({ settings: { VITRINE_SUB_IDS_FILE: path } })
    const { version, subRules } = harness.context
    versions.add(version)
    positions.push(subRules.findPosition({ network: 'Net', affiliateUrl: 'https://go.example/x' }))
    await harness.dispose()
  }
  expect(versions.size).toBe(3)
  expect(positions).toEqual([
    undefined,
    undefined,
    { index: 20, before: '?ref=', after: '', maxCharacters: 20 },
  ])
})
