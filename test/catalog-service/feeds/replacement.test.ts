import * as fc from 'fast-check'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { findFeed, removeFeed } from '../../../src/catalog-service/store/feeds.ts'
import { findMerchant, setApprovals } from '../../../src/catalog-service/store/merchants.ts'
import {
  fetchNetworkChannels,
  findNetwork,
  insertNetwork,
  insertNetworkChannel,
  updateNetwork,
} from '../../../src/catalog-service/store/networks.ts'
import {
  removeMerchant,
  removeNetwork,
  removeOrganization,
} from '../../../src/catalog-service/store/removal.ts'
import type { WireOffer, WireProduct } from '../../../src/catalog/contract.ts'
import { HOUR_MS } from '../../../src/clock.ts'
import { compareTexts } from '../../../src/offers/ranking.ts'
import { toRunCount } from '../../helpers/property-runs.ts'
import { type StoreUnderTest, importText, openTestStore } from '../harness.ts'
import { addChannel, toGtin } from './feed-fixture.ts'
import {
  CHANNELS,
  CHANNEL_IDS,
  type ChannelId,
  FEEDS,
  type FeedName,
  MERCHANTS,
  type MerchantName,
  type Model,
  type ModelProduct,
  NETWORKS,
  type NetworkName,
  approveInModel,
  computeProducts,
  createModel,
  importIntoModel,
  removeMerchantFromModel,
  toPublisher,
} from './replacement-model.ts'
import { getReader } from '../store-handles.ts'

const TEMPLATES = [
  null,
  'https://net.example/?u={url}&m={merchant}',
  'https://net.example/?u={url}&p={publisher}',
] as const

/** An offer whose times are hours after the start. */
type FileOffer = Readonly<{
  network: NetworkName
  merchant: MerchantName
  link: 'tracked' | 'page'
  /** Number of the link. */
  at: number
  currency: string
  price: string
  salePrice: string | null
  saleEndsHours: number | null
  availability: string
  checkedHours: number | null
}>

type FileProduct = Omit<ModelProduct, 'offers'> & Readonly<{ offers: readonly FileOffer[] }>

type Step =
  | Readonly<{ kind: 'import'; feed: FeedName; products: readonly FileProduct[] }>
  | Readonly<{ kind: 'import again'; feed: FeedName }>
  | Readonly<{ kind: 'remove feed'; feed: FeedName }>
  | Readonly<{ kind: 'template'; network: NetworkName; template: string | null }>
  | Readonly<{ kind: 'remove merchant'; merchant: MerchantName }>
  | Readonly<{
      kind: 'approve' | 'revoke'
      channelId: ChannelId
      network: NetworkName
      /** `null`: all that have offers. */
      merchant: MerchantName | null
    }>
  | Readonly<{ kind: 'advance'; hours: number }>

const FEED_NAMES = Object.keys(FEEDS) as FeedName[]

type ApprovalStep = Extract<Step, Readonly<{ channelId: ChannelId }>>

const anyFeed = fc.constantFrom(...FEED_NAMES)
const anyNetwork = fc.constantFrom(...NETWORKS)
const anyMerchant = fc.constantFrom(...MERCHANTS)

const anyOffer: fc.Arbitrary<FileOffer> = fc.record({
  network: anyNetwork,
  merchant: anyMerchant,
  link: fc.constantFrom('page', 'tracked'),
  at: fc.integer({ min: 1, max: 2 }),
  currency: fc.constantFrom('EUR', 'USD'),
  price: fc.constantFrom('10.00', '9.50'),
  salePrice: fc.option(fc.constantFrom('9.00', '8.50')),
  saleEndsHours: fc.option(fc.integer({ min: 1, max: 4 })),
  availability: fc.constantFrom('in_stock', 'out_of_stock'),
  checkedHours: fc.option(fc.integer({ min: -1, max: 3 })),
})

const anyProduct: fc.Arbitrary<FileProduct> = fc.record({
  gtin: fc.integer({ min: 1, max: 8 }).map(toGtin),
  title: fc.constantFrom('Cup', 'Mug', 'Jug'),
  brand: fc.option(fc.constantFrom('Kopje', 'Tasse')),
  image: fc.option(fc.constantFrom('https://img.example/1', 'https://img.example/2')),
  offers: fc.array(anyOffer, { minLength: 1, maxLength: 3 }),
})

const anyImport = fc.record({
  kind: fc.constant('import' as const),
  feed: anyFeed,
  products: fc.uniqueArray(anyProduct, { minLength: 1, maxLength: 4, selector: ({ gtin }) => gtin }),
})

const anyTemplate = fc.record({
  kind: fc.constant('template' as const),
  network: anyNetwork,
  template: fc.constantFrom(...TEMPLATES),
})

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: anyImport },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('import again' as const), feed: anyFeed }) },
  fc.record({ kind: fc.constant('remove feed' as const), feed: anyFeed }),
  anyTemplate,
  fc.record({ kind: fc.constant('remove merchant' as const), merchant: anyMerchant }),
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('approve' as const, 'revoke' as const),
      channelId: fc.constantFrom(...CHANNEL_IDS),
      network: anyNetwork,
      merchant: fc.option(anyMerchant),
    }),
  },
  fc.record({ kind: fc.constant('advance' as const), hours: fc.integer({ min: 1, max: 3 }) }),
)

/** Mostly present: a shrunk counterexample leaves out what does not matter. */
const maybe = <T extends Step>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { freq: 8 })

/** Fill the catalog, then change it. A failed test prints one step per line. */
const anySteps = fc
  .tuple(
    ...NETWORKS.map((network) => maybe(anyTemplate.map((step) => ({ ...step, network })))),
    ...FEED_NAMES.map((feed) => maybe(anyImport.map((step) => ({ ...step, feed })))),
    ...CHANNEL_IDS.flatMap((channelId) =>
      NETWORKS.map((network) =>
        maybe(fc.constant({ kind: 'approve', channelId, network, merchant: null } as const)),
      ),
    ),
    fc.array(anyStep, { maxLength: 12, size: 'max' }),
  )
  .map((parts) => {
    const steps = parts.flat().filter((step) => step !== null)
    return { steps, [fc.toStringMethod]: () => steps.map((step) => `\n  ${describeStep(step)}`).join('') }
  })

function describeStep({ kind, ...step }: Step): string {
  if (!('products' in step)) return [kind, ...Object.values(step)].join(' ')
  const products = step.products.map(({ offers, ...product }) => {
    const texts = offers.map((offer) => Object.values(offer).join(' '))
    return `\n    ${Object.values(product).join(' ')}: ${texts.join(', ')}`
  })
  return `${kind} ${step.feed}${products.join('')}`
}

const MAP = JSON.stringify({
  format: 'json',
  offers: 'offers',
  fields: {
    gtin: 'gtin',
    title: 'title',
    brand: 'brand',
    image: 'image',
    merchant: 'offers.merchant',
    network: 'offers.network',
    price: 'offers.price',
    salePrice: 'offers.salePrice',
    saleEndsAt: 'offers.saleEndsAt',
    currency: 'offers.currency',
    availability: 'offers.availability',
    trackingLink: 'offers.tracked',
    pageLink: 'offers.page',
    checkedAt: 'offers.checkedAt',
  },
})

function toModelProduct({ offers, ...product }: FileProduct, startMs: number): ModelProduct {
  const toTimeMs = (hours: number | null): number | null =>
    hours === null ? null : startMs + hours * HOUR_MS
  return {
    ...product,
    offers: offers.map(({ at, saleEndsHours, checkedHours, ...offer }) => ({
      ...offer,
      url: `https://${offer.link}.example/${at}`,
      saleEndsMs: offer.salePrice === null ? null : toTimeMs(saleEndsHours),
      checkedMs: toTimeMs(checkedHours),
    })),
  }
}

function toTime(timeMs: number | null): string | null {
  return timeMs === null ? null : new Date(timeMs).toISOString()
}

function toFile(products: readonly ModelProduct[]): string {
  const lines = products.map(({ offers, ...product }) => {
    const rows = offers.map(({ url, link, saleEndsMs, checkedMs, ...offer }) => ({
      ...offer,
      [link]: url,
      saleEndsAt: toTime(saleEndsMs),
      checkedAt: toTime(checkedMs),
    }))
    return JSON.stringify({ ...product, offers: rows })
  })
  return lines.join('\n')
}

/** A catalog, its model, and the files of its feeds. */
type Compared = Readonly<{
  fixture: StoreUnderTest
  model: Model
  startMs: number
  files: Map<FeedName, readonly ModelProduct[]>
}>

/** Empty the catalog, and add the channels and networks of the model. */
async function startCompared(fixture: StoreUnderTest): Promise<Compared> {
  const { store } = fixture
  const organizations = [...new Set(Object.values(CHANNELS))]
  await store.write(async (database) => {
    for (const id of organizations) await removeOrganization(database, id)
    for (const { id } of await database.selectFrom('networks').select('id').execute())
      await removeNetwork(database, id)
    await database.deleteFrom('merchants').execute()
  })
  for (const [id, organizationId] of Object.entries(CHANNELS)) await addChannel(fixture, id, organizationId)
  await store.write(async (database) => {
    for (const name of NETWORKS) {
      const networkId = await insertNetwork(database, { name, linkTemplate: null })
      for (const channelId of CHANNEL_IDS) {
        const organizationId = CHANNELS[channelId]
        const reference = toPublisher(channelId, name)
        await insertNetworkChannel(database, { organizationId, networkId, reference, channelId })
      }
    }
  })
  return { fixture, model: createModel(), startMs: fixture.clock.nowMs(), files: new Map() }
}

async function runStep(compared: Compared, step: Step): Promise<void> {
  const { fixture, startMs, files } = compared
  switch (step.kind) {
    case 'import':
      files.set(
        step.feed,
        step.products.map((product) => toModelProduct(product, startMs)),
      )
      return importBoth(compared, step.feed)
    case 'import again':
      return importBoth(compared, step.feed)
    case 'remove feed':
      return removeFeedFromBoth(compared, step.feed)
    case 'template':
      return setTemplate(compared, step)
    case 'remove merchant':
      return removeMerchantFromBoth(compared, step.merchant)
    case 'approve':
    case 'revoke':
      return changeApproval(compared, step)
    case 'advance':
      return fixture.clock.advance(step.hours * HOUR_MS)
  }
}

async function importBoth({ fixture, model, files }: Compared, feed: FeedName): Promise<void> {
  const products = files.get(feed)
  if (products === undefined) return
  await importText(fixture, toFile(products), { feedName: feed, channelId: FEEDS[feed], map: MAP })
  importIntoModel(model, feed, products, fixture.clock.nowMs())
}

async function removeFeedFromBoth({ fixture: { store }, model }: Compared, name: FeedName): Promise<void> {
  const feed = await findFeed(await getReader(store), name)
  if (feed !== undefined) await store.write((database) => removeFeed(database, feed.id))
  model.feeds.delete(name)
}

async function setTemplate(
  { fixture: { store }, model }: Compared,
  { network, template }: Extract<Step, Readonly<{ kind: 'template' }>>,
): Promise<void> {
  const id = (await findNetwork(await getReader(store), network))?.id ?? 0
  await store.write((database) => updateNetwork(database, id, { linkTemplate: template }))
  model.templates.set(network, template)
}

async function removeMerchantFromBoth(
  { fixture: { store }, model }: Compared,
  name: MerchantName,
): Promise<void> {
  const merchant = await findMerchant(await getReader(store), name)
  if (merchant !== undefined) await store.write((database) => removeMerchant(database, merchant.id))
  removeMerchantFromModel(model, name)
}

async function changeApproval(
  { fixture: { store }, model }: Compared,
  { kind, channelId, network, merchant }: ApprovalStep,
): Promise<void> {
  const networkId = (await findNetwork(await getReader(store), network))?.id ?? 0
  const merchantId = merchant === null ? null : (await findMerchant(await getReader(store), merchant))?.id
  // A merchant that no feed has brought is unknown.
  if (merchantId === undefined) return
  await store.write(async (database) => {
    const [networkChannel] = await fetchNetworkChannels(database, { networkId, channelId })
    const revokedAtMs = kind === 'approve' ? null : store.clock.nowMs()
    await setApprovals(database, {
      networkChannelId: networkChannel?.id ?? 0,
      networkId,
      merchantId,
      revokedAtMs,
    })
  })
  approveInModel(model, { channelId, network, merchant }, kind === 'approve')
}

async function walk({ store }: StoreUnderTest, channelId: ChannelId, limit: number): Promise<WireProduct[]> {
  const products: WireProduct[] = []
  let afterGtin: string | null = ''
  while (afterGtin !== null) {
    const query = { organizationId: CHANNELS[channelId], channelId, afterGtin, limit }
    const page = await store.fetchPage(query)
    products.push(...(page?.items ?? []))
    afterGtin = page?.lastGtin ?? null
  }
  return products
}

/** The order of offers in a response has no meaning. */
function sortOffers(products: readonly WireProduct[]): unknown {
  return products.map((product) => ({
    ...product,
    offers: product.offers.map(toText).toSorted(compareTexts),
  }))
}

function toText({ merchant, ...offer }: WireOffer): string {
  const fields = Object.entries(offer).map(([name, value]) => `${name} ${value}`)
  return [merchant.name, ...fields.toSorted(compareTexts)].join(', ')
}

/** Count products and shops of feeds that have no offers of them, and offers without these. */
async function countOrphans({ store }: StoreUnderTest): Promise<number> {
  const isOfShop = sql`s.feed_id = o.feed_id and s.merchant_id = o.merchant_id and s.network_id = o.network_id
    and s.network_channel_id = o.network_channel_id and s.is_page = o.is_page`
  const isOfProduct = sql`p.feed_id = o.feed_id and p.gtin = o.gtin`
  const { rows } = await sql<{ count: number }>`
    select (select count(*) from products p where not exists (select 1 from offers o where ${isOfProduct}))
      + (select count(*) from offers o where not exists (select 1 from products p where ${isOfProduct}))
      + (select count(*) from feed_shops s where not exists (select 1 from offers o where ${isOfShop}))
      + (select count(*) from offers o where not exists (select 1 from feed_shops s where ${isOfShop})) as count`.execute(
    await getReader(store),
  )
  return Number(rows[0]?.count)
}

test('any sequence of imports, removals, templates and approvals - channels show what a plain computation gives', async () => {
  const fixture = await openTestStore()
  let productCount = 0
  await fc.assert(
    fc.asyncProperty(anySteps, async ({ steps }) => {
      const compared = await startCompared(fixture)
      for (const [index, step] of steps.entries()) {
        await runStep(compared, step)
        expect(await countOrphans(fixture), `orphans after step ${index + 1} (${step.kind})`).toBe(0)
        for (const [position, channelId] of CHANNEL_IDS.entries()) {
          const expected = computeProducts(compared.model, channelId, fixture.clock.nowMs())
          const place = `after step ${index + 1} (${step.kind}), channel ${channelId}`
          const products = await walk(fixture, channelId, 200)
          expect(sortOffers(products), place).toEqual(sortOffers(expected))
          productCount += products.length
          // Small pages take many queries, so the channels take turns.
          if (index % CHANNEL_IDS.length !== position) continue
          const limit = 1 + (index % 2)
          expect(await walk(fixture, channelId, limit), `${place}, limit ${limit}`).toEqual(products)
        }
      }
    }),
    { numRuns: toRunCount(50) },
  )
  expect(productCount).toBeGreaterThan(100)
})
