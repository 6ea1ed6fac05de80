import { expect, test, vi } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { Secret } from '../../../src/config/secrets.ts'
import { createWebhook } from '../../../src/events/webhook.ts'
import { createLogger } from '../../../src/observability/logger.ts'
import { createMetrics } from '../../../src/observability/metrics.ts'
import { openStoredCopy } from '../../../src/storage/stored-copy.ts'
import { addCleanup } from '../../helpers/cleanup.ts'
import { EVENT_SECRET, isSignatureValid, startEventReceiver } from '../../helpers/event-receiver.ts'
import { makeWireOffer } from '../../helpers/fake-catalog.ts'
import { makeWalkFixture, makeWireProducts, setProducts } from '../../sync/walk-fixture.ts'
import { useDatabase } from '../use-database.ts'
import { NO_PROXIES } from '../../helpers/proxies.ts'

const database = useDatabase()

const SHOPS = Array.from({ length: 20 }, (_, index) => `Shop ${String(index).padStart(2, '0')}`)

test('two replicas that walk and send at once - each event once, and in order', async () => {
  const fixture = await makeWalkFixture(database.address)
  const sell = (shops: readonly string[]): void => {
    const offers = shops.map((name) => makeWireOffer({ merchant: { name } }))
    setProducts(
      fixture.catalog,
      makeWireProducts(300).map((product) => ({ ...product, offers })),
    )
  }
  const receiver = await startEventReceiver()
  receiver.responses.push((response) => void response.writeHead(500).end())
  sell(['Kopje', ...SHOPS])
  await fixture.walk()
  sell(['Kopje'])
  const replicas = await Promise.all(
    ['one', 'two'].map(async () => {
      const store = await openStoredCopy({ database: database.address, catalog: 'c' })
      const webhook = createWebhook({
        webhook: { url: new Secret(receiver.url), secret: new Secret(EVENT_SECRET) },
        proxies: NO_PROXIES,
        store,
        clock: systemClock,
        logger: createLogger({ level: 'silent' }),
        metrics: createMetrics(),
      })
      addCleanup(() => store.close())
      addCleanup(() => webhook.stop())
      return { webhook, store }
    }),
  )
  const walks = await Promise.all(
    ['one', 'two'].map((owner) => fixture.walk({ job: { owner }, clock: systemClock })),
  )
  expect(walks.flatMap((report) => report.walks.map(({ outcome }) => outcome)).toSorted()).toEqual(
    expect.arrayContaining(['complete']),
  )
  for (const { webhook } of replicas) webhook.start()
  await vi.waitFor(
    () => {
      for (const { webhook } of replicas) webhook.notify()
      expect(receiver.received.length).toBeGreaterThan(SHOPS.length)
    },
    { timeout: 60_000, interval: 100 },
  )
  for (const { webhook } of replicas) webhook.notify()
  await vi.waitFor(async () =>
    expect(await replicas[0]?.store.readDeliveryState()).toMatchObject({ pendingCount: 0 }),
  )
  const names = receiver.received.map(
    ({ body }) => (JSON.parse(body) as { shop: { name: string } }).shop.name,
  )
  expect(names).toEqual([SHOPS[0], ...SHOPS])
  expect(await Promise.all(receiver.received.map((one) => isSignatureValid(one)))).not.toContain(false)
  expect(await replicas[0]?.store.listEvents(100)).toHaveLength(SHOPS.length)
})
