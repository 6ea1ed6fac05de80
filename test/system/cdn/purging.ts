import { expect, it } from 'vitest'
import { CHANNEL_ID } from '../../helpers/fake-catalog.ts'
import { toGtin } from '../../helpers/products.ts'
import { sendRequest } from './send-request.ts'
import { type CdnFixture, OTHER_CHANNEL_ID, toBoxPath } from './fixture.ts'
import type { CdnUnderTest } from './sharing.ts'

/** Purge the responses with a tag from a cache. */
export type Purge = (tag: string) => Promise<void>

/** Addresses of one product in one channel: fragments, embeds, spellings and options. */
type ProductAddresses = Readonly<{ box: string; all: readonly string[] }>

const toDeals = (channelId: string): readonly string[] => [
  `/fragments/${channelId}/deals`,
  `/fragments/${channelId}/deals?limit=3`,
  `/embeds/${channelId}/deals?page=2`,
]

/** A GTIN that no product has. */
const UNSOLD_GTIN = toGtin(9_501)

function listProductAddresses(gtin: string, channelId: string): ProductAddresses {
  const box = toBoxPath(gtin, channelId)
  const short = toBoxPath(String(Number(gtin)), channelId)
  return {
    box,
    all: [
      box,
      `${box}?limit=1&theme=dark`,
      short,
      `${short}?layout=table`,
      box.replace(channelId, channelId.toUpperCase().replace('3F', '3f')),
      box.replace('/fragments/', '/embeds/'),
      `${toBoxPath(UNSOLD_GTIN, channelId)}~${gtin}`,
      `${toBoxPath(UNSOLD_GTIN, channelId)}?else=1,${Number(gtin)}`,
      `/fragments/${channelId}/picks/${UNSOLD_GTIN},${Number(gtin)}?label=Second&label=First`,
      `/embeds/${channelId}/picks/${gtin}%2C${UNSOLD_GTIN}`,
    ],
  }
}

/** Cache all addresses, call `purge`, and return the addresses that the CDN then requests again. */
async function findPurged(
  { fixture, cdn }: CdnUnderTest,
  addresses: readonly string[],
  purge: () => Promise<void>,
): Promise<readonly string[]> {
  for (const address of addresses) await sendRequest(cdn().origin + address)
  const countsBefore = addresses.map((address) => countRequests(fixture(), address))
  for (const address of addresses) await sendRequest(cdn().origin + address)
  // An address that was not cached proves nothing.
  expect(addresses.map((address) => countRequests(fixture(), address))).toEqual(countsBefore)
  await purge()
  for (const address of addresses) await sendRequest(cdn().origin + address)
  return addresses.filter((address, index) => countRequests(fixture(), address) > (countsBefore[index] ?? 0))
}

function countRequests({ proxies }: CdnFixture, address: string): number {
  return proxies.flatMap(({ requests }) => requests).filter(({ url }) => url === address).length
}

const toGtinOfBox = ({ box }: ProductAddresses): string => box.slice(-14)

/** A CDN that can purge. `isTagged`: the servers send tags, which also cover spellings that only servers can parse. */
export type PurgeableCdn = CdnUnderTest & Readonly<{ purge: Purge; isTagged: boolean }>

/** Define the tests of purges by tag: which cached responses they remove, and which they leave. */
export function testPurgeByTag(name: string, cdnUnderTest: PurgeableCdn): void {
  const { purge, isTagged } = cdnUnderTest
  const makeAddresses = (): {
    product: ProductAddresses
    otherChannel: ProductAddresses
    all: readonly string[]
  } => {
    const gtin = cdnUnderTest.fixture().nextGtin()
    const product = listProductAddresses(gtin, CHANNEL_ID)
    const encodedSpelling = product.box.replace(`/${gtin}`, `/%30${gtin.slice(1)}`)
    const allSpellings = { ...product, all: isTagged ? [...product.all, encodedSpelling] : product.all }
    const otherChannel = listProductAddresses(gtin, OTHER_CHANNEL_ID)
    const otherProduct = listProductAddresses(cdnUnderTest.fixture().nextGtin(), CHANNEL_ID)
    const deals = [...toDeals(CHANNEL_ID), ...toDeals(OTHER_CHANNEL_ID)]
    const all = [...new Set([...allSpellings.all, ...otherChannel.all, ...otherProduct.all, ...deals])]
    return { product: allSpellings, otherChannel, all }
  }
  it(`${name} - purge of a product - removes its responses in every channel, spelling and option, and no others`, async () => {
    const { product, otherChannel, all } = makeAddresses()
    const purged = await findPurged(cdnUnderTest, all, () => purge(`product-${toGtinOfBox(product)}`))
    expect(purged).toEqual(all.filter((address) => [...product.all, ...otherChannel.all].includes(address)))
  })

  it(`${name} - purge of a box - leaves the boxes of the product in other channels`, async () => {
    const { product, all } = makeAddresses()
    const purged = await findPurged(cdnUnderTest, all, () =>
      purge(`box-${CHANNEL_ID}-${toGtinOfBox(product)}`),
    )
    expect(purged).toEqual(all.filter((address) => product.all.includes(address)))
  })

  it(`${name} - purge of a channel - removes its boxes and deals, and those of no other channel`, async () => {
    const { all } = makeAddresses()
    const purged = await findPurged(cdnUnderTest, all, () => purge(`channel-${CHANNEL_ID}`))
    expect(purged).toEqual(all.filter((address) => address.toLowerCase().includes(CHANNEL_ID)))
  })

  it(`${name} - purge of a channel's deals - removes only these`, async () => {
    const { all } = makeAddresses()
    const purged = await findPurged(cdnUnderTest, all, () => purge(`deals-${OTHER_CHANNEL_ID}`))
    expect(purged).toEqual(toDeals(OTHER_CHANNEL_ID))
  })

  it(`${name} - purge of everything - removes every box and every grid`, async () => {
    const { all } = makeAddresses()
    expect(await findPurged(cdnUnderTest, all, () => purge('vitrine'))).toEqual(all)
  })

  it(`${name} - purge of a product without offers - removes its hidden box`, async () => {
    const gtin = toGtin(9_500)
    expect(await findPurged(cdnUnderTest, [toBoxPath(gtin)], () => purge(`product-${gtin}`))).toEqual([
      toBoxPath(gtin),
    ])
  })
}
