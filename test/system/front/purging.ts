import { expect, it } from 'vitest'
import { CHANNEL_ID } from '../../helpers/fake-catalog.ts'
import { toGtin } from '../../helpers/products.ts'
import { ask } from './ask.ts'
import { type FrontPlace, OTHER_CHANNEL_ID, toBox } from './place.ts'
import type { Fronted } from './sharing.ts'

/** How a cache is told to forget what has a tag. */
export type Purge = (tag: string) => Promise<void>

/** Addresses of one product in one channel: every surface, spelling and option. */
type Own = Readonly<{ box: string; all: readonly string[] }>

const toDeals = (channelId: string): readonly string[] => [
  `/fragments/${channelId}/deals`,
  `/fragments/${channelId}/deals?limit=3`,
  `/embeds/${channelId}/deals?page=2`,
]

function listOwn(gtin: string, channelId: string): Own {
  const box = toBox(gtin, channelId)
  const short = toBox(String(Number(gtin)), channelId)
  return {
    box,
    all: [
      box,
      `${box}?limit=1&theme=dark`,
      short,
      `${short}?layout=table`,
      box.replace(channelId, channelId.toUpperCase().replace('3F', '3f')),
      box.replace('/fragments/', '/embeds/'),
    ],
  }
}

/** Of addresses that are all kept, those that the servers are asked for once more after `act`. */
async function findForgotten(
  { place, front }: Fronted,
  addresses: readonly string[],
  act: () => Promise<void>,
): Promise<readonly string[]> {
  for (const address of addresses) await ask(front().origin + address)
  const before = addresses.map((address) => count(place(), address))
  for (const address of addresses) await ask(front().origin + address)
  // Nothing is proved by what was never kept.
  expect(addresses.map((address) => count(place(), address))).toEqual(before)
  await act()
  for (const address of addresses) await ask(front().origin + address)
  return addresses.filter((address, index) => count(place(), address) > (before[index] ?? 0))
}

function count({ gates }: FrontPlace, address: string): number {
  return gates.flatMap(({ requests }) => requests).filter(({ url }) => url === address).length
}

const toGtinOf = ({ box }: Own): string => box.slice(-14)

/** A front that can purge. `isTagged`: the servers send tags, so that a spelling counts that only they can read. */
export type Purged = Fronted & Readonly<{ purge: Purge; isTagged: boolean }>

/** What a purge by tag has to reach, and what it has to leave alone. */
export function itPurgesByTag(name: string, fronted: Purged): void {
  const { purge, isTagged } = fronted
  const makeAddresses = (): { own: Own; abroad: Own; all: readonly string[] } => {
    const gtin = fronted.place().nextGtin()
    const own = listOwn(gtin, CHANNEL_ID)
    const spelled = own.box.replace(`/${gtin}`, `/%30${gtin.slice(1)}`)
    const withSpelled = { ...own, all: isTagged ? [...own.all, spelled] : own.all }
    const abroad = listOwn(gtin, OTHER_CHANNEL_ID)
    const beside = listOwn(fronted.place().nextGtin(), CHANNEL_ID)
    const deals = [...toDeals(CHANNEL_ID), ...toDeals(OTHER_CHANNEL_ID)]
    const all = [...new Set([...withSpelled.all, ...abroad.all, ...beside.all, ...deals])]
    return { own: withSpelled, abroad, all }
  }
  it(`${name} - purge of a product - forgets every spelling and option of it, in every channel, and nothing else`, async () => {
    const { own, abroad, all } = makeAddresses()
    const forgotten = await findForgotten(fronted, all, () => purge(`product-${toGtinOf(own)}`))
    expect(forgotten).toEqual(all.filter((address) => [...own.all, ...abroad.all].includes(address)))
  })

  it(`${name} - purge of a box - leaves the product's other channels`, async () => {
    const { own, all } = makeAddresses()
    const forgotten = await findForgotten(fronted, all, () => purge(`box-${CHANNEL_ID}-${toGtinOf(own)}`))
    expect(forgotten).toEqual(all.filter((address) => own.all.includes(address)))
  })

  it(`${name} - purge of a channel - forgets its boxes and deals, and no other channel's`, async () => {
    const { all } = makeAddresses()
    const forgotten = await findForgotten(fronted, all, () => purge(`channel-${CHANNEL_ID}`))
    expect(forgotten).toEqual(all.filter((address) => address.toLowerCase().includes(CHANNEL_ID)))
  })

  it(`${name} - purge of a channel's deals - forgets those alone`, async () => {
    const { all } = makeAddresses()
    const forgotten = await findForgotten(fronted, all, () => purge(`deals-${OTHER_CHANNEL_ID}`))
    expect(forgotten).toEqual(toDeals(OTHER_CHANNEL_ID))
  })

  it(`${name} - purge of everything - forgets every box and every grid`, async () => {
    const { all } = makeAddresses()
    expect(await findForgotten(fronted, all, () => purge('vitrine'))).toEqual(all)
  })

  it(`${name} - purge of a product that was sold nowhere - forgets its hidden box`, async () => {
    const gtin = toGtin(9_500)
    expect(await findForgotten(fronted, [toBox(gtin)], () => purge(`product-${gtin}`))).toEqual([toBox(gtin)])
  })
}
