import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { Product } from '../../src/catalog/contract.ts'
import { openStoredCopy } from '../../src/storage/stored-copy.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'
import { CHANNEL, makeQuery, walkAll } from './conformance/subject.ts'

/** Build products that change with every walk. In even walks, the first offer is not the one on sale. */
function makeCatalog(walk: number): Product[] {
  const sale = makeParsedOffer({ merchant: walk % 2 === 0 ? 'Zaal' : 'Alpha', oldPrice: `${100 + walk}.00` })
  const offers = [sale, makeParsedOffer({ merchant: 'Kopje' })]
  return [1, 2, 3].map((index) => makeProduct({ gtin: toGtin(index), title: `walk ${walk}`, offers }))
}

test('readers - while walks complete on another connection - always find one complete version', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-race-'))
  const database = { kind: 'sqlite', path: join(folder, 'copy.db') } as const
  const walker = await openStoredCopy({ database, catalog: 'c' })
  const reader = await openStoredCopy({ database, catalog: 'c' })
  onTestFinished(async () => {
    await reader.close()
    await walker.close()
    await rm(folder, { recursive: true, force: true })
  })
  await walkAll(walker, makeCatalog(0), 100)
  const walking = new AbortController()
  const walkOften = async (): Promise<void> => {
    for (let walk = 1; walk <= 60; walk += 1) {
      await walkAll(walker, makeCatalog(walk), 100 + walk)
      const lookup = { product: makeCatalog(walk + 1)[0] ?? null, asOfMs: 100 + walk }
      await walker.putLookups([{ channelId: CHANNEL, gtin: toGtin(1), entry: lookup }])
    }
    walking.abort()
  }
  const readOften = async (): Promise<void> => {
    while (!walking.signal.aborted) {
      const entry = await reader.findProduct(CHANNEL, toGtin(2))
      expect(entry?.product?.title).toMatch(/^walk/)
      const deals = await reader.findDeals(makeQuery())
      expect(deals).toHaveLength(3)
      for (const { offer } of deals) expect(offer.oldPrice).toBeTruthy()
      expect(await reader.searchProducts(CHANNEL, 'walk', 8)).toHaveLength(3)
      // Walks yield to other work on the event loop. A reader that never yields would starve them.
      await setImmediate()
    }
  }
  await Promise.all([walkOften(), readOften()])
})
