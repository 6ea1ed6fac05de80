import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Channel } from '../../../src/catalog/contract.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../../helpers/products.ts'
import { CHANNEL, type Copy, type CopyFixture, type Subject, readBox, readGrid, walkAll } from './subject.ts'

const makeChannel = (id: string, over: Partial<Channel> = {}): Channel => ({
  id,
  name: `Channel ${id}`,
  kind: 'website',
  url: 'https://magazine.example/',
  ...over,
})

/** Test the channel list, and that a copy belongs to one catalog. */
export function describeChannels(subject: Subject): void {
  describe(`${subject.name}: channels and catalogs`, () => {
    let fixture: CopyFixture
    let copy: Copy
    beforeEach(async () => {
      fixture = await subject.start()
      copy = await fixture.open('https://one.example')
    })
    afterEach(() => fixture.dispose())

    test('channel list - none stored - is unknown; empty list stored - is an empty list', async () => {
      expect(await copy.findChannelList()).toBeUndefined()
      await copy.putChannelList([], 100)
      expect(await copy.findChannelList()).toEqual({ asOfMs: 100, heldSinceMs: null, channels: [], gone: [] })
    })

    test('channel list - stored - is read back in its order with every field', async () => {
      const channels = [
        makeChannel('c', { kind: 'newsletter', url: null }),
        makeChannel('a'),
        makeChannel('b'),
      ]
      await copy.putChannelList(channels, 100)
      expect(await copy.findChannelList()).toEqual({ asOfMs: 100, heldSinceMs: null, channels, gone: [] })
      await copy.putChannelList(channels.toReversed(), 200)
      expect((await copy.findChannelList())?.channels.map(({ id }) => id)).toEqual(['b', 'a', 'c'])
    })

    test('channel - missing in a later list - is listed as removed since then, until it returns', async () => {
      const [a, b] = [makeChannel('a'), makeChannel('b')]
      await copy.putChannelList([a, b], 100)
      await copy.putChannelList([b], 200)
      await copy.putChannelList([b], 300)
      expect(await copy.findChannelList()).toEqual({
        asOfMs: 300,
        heldSinceMs: null,
        channels: [b],
        gone: [{ channel: a, goneAtMs: 200 }],
      })
      await copy.putChannelList([], 400)
      expect((await copy.findChannelList())?.gone.map(({ goneAtMs }) => goneAtMs).sort()).toEqual([200, 400])
      const renamed = { ...a, name: 'Renamed' }
      await copy.putChannelList([renamed], 500)
      expect(await copy.findChannelList()).toMatchObject({ channels: [renamed], gone: [{ channel: b }] })
    })

    test('empty channel list - held - the stored list stays, with the earliest time of the hold; the next list ends it', async () => {
      const a = makeChannel('a')
      await copy.recordEmptyChannelList(50)
      expect(await copy.findChannelList()).toBeUndefined()
      await copy.putChannelList([a], 100)
      await copy.recordEmptyChannelList(200)
      await copy.recordEmptyChannelList(300)
      expect(await copy.findChannelList()).toEqual({ asOfMs: 100, heldSinceMs: 200, channels: [a], gone: [] })
      await copy.recordEmptyChannelList(150)
      expect(await copy.findChannelList()).toMatchObject({ heldSinceMs: 150 })
      await copy.putChannelList([a], 400)
      expect(await copy.findChannelList()).toMatchObject({ asOfMs: 400, heldSinceMs: null })
    })

    test('another catalog in the same database - has no access to the copy', async () => {
      if (!fixture.isShared) return
      const product = makeProduct({ offers: [makeParsedOffer({ oldPrice: '99.00' })] })
      await copy.putChannelList([makeChannel(CHANNEL)], 100)
      await walkAll(copy, [product], 100)
      await copy.putLookups([{ channelId: CHANNEL, gtin: toGtin(2), entry: { product: null, asOfMs: 100 } }])
      const other = await fixture.open('https://two.example')
      expect(await other.findChannelList()).toBeUndefined()
      expect(await readBox(other, product.gtin)).toBe('unknown')
      expect(await readBox(other, toGtin(2))).toBe('unknown')
      expect(await readGrid(other)).toEqual([])
      expect(await other.findDealCurrency(CHANNEL)).toBeUndefined()
      expect(await other.searchProducts(CHANNEL, '', 8)).toEqual([])
      expect(await other.getCopyState(CHANNEL)).toMatchObject({ currentWalk: 0, completedAtMs: null })
      await walkAll(other, [], 200)
      expect(await readGrid(copy)).toEqual([product.title])
    })

    test('copy opened again - same database - has all its data', async () => {
      if (!fixture.isShared) return
      await walkAll(copy, [makeProduct()], 100)
      const again = await fixture.open('https://one.example')
      expect(await readBox(again, toGtin(1))).toBe('Lumen Arc desk lamp @100')
      expect(await again.getCopyState(CHANNEL)).toMatchObject({ currentWalk: 1, productCount: 1 })
    })
  })
}
