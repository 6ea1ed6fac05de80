import { beforeEach, describe, expect, test } from 'vitest'
import type { WireProduct } from '../../../src/catalog/contract.ts'
import { HOUR_MS } from '../../../src/clock.ts'
import { parseSerializedAddress } from '../../../src/config/database-address.ts'
import { openCopyDatabase } from '../../../src/storage/copy-database.ts'
import { toPictureHash } from '../../../src/offers/pictures.ts'
import { fillNextPictures } from '../../../src/storage/picture-filling.ts'
import type { CopyState } from '../../../src/storage/store.ts'
import { CHANNEL_ID } from '../../helpers/fake-catalog.ts'
import { useDatabase } from '../use-database.ts'
import { undoMigrationsFrom0008 } from '../../storage/undo-migrations.ts'
import {
  type WalkFixture,
  makeWalkFixture,
  makeWireProducts,
  withMalformedPrices,
  setProducts,
} from '../../sync/walk-fixture.ts'

const GOOD = makeWireProducts(120)
const MALFORMED = withMalformedPrices(GOOD, 120)

const database = useDatabase()

const START: Readonly<Record<string, () => Promise<WalkFixture>>> = {
  'SQLite file': () => makeWalkFixture(),
  async PostgreSQL() {
    await database.truncate()
    return makeWalkFixture(database.address)
  },
}

describe.each(Object.entries(START))('%s: copy of a version without held walks', (_name, start) => {
  let fixture: WalkFixture
  beforeEach(async () => {
    fixture = await start()
    // The database server's clock differs from the test's; the catalog confirms the test's.
    fixture.catalog.nowMs = fixture.clock.nowMs
  })

  /** Walk, then downgrade the database to the previous version. */
  async function makeOldCopy(products: readonly WireProduct[]): Promise<void> {
    expect(await walkLater(products)).toBe('complete 120')
    const { writer, close } = await openCopyDatabase(parseSerializedAddress(fixture.job.database))
    await undoMigrationsFrom0008(writer)
    await close()
  }

  async function walkLater(products: readonly WireProduct[]): Promise<string> {
    fixture.clock.advance(HOUR_MS)
    setProducts(fixture.catalog, [...products])
    const { walks, failure } = await fixture.walk()
    return walks.map(({ outcome, productCount }) => `${outcome} ${productCount}`).join() || String(failure)
  }

  const readState = (): Promise<CopyState> => fixture.copy.getCopyState(CHANNEL_ID)

  async function migrate(): Promise<void> {
    const { close } = await openCopyDatabase(parseSerializedAddress(fixture.job.database))
    await close()
  }

  test.each([
    ['mostly malformed', MALFORMED],
    ['good', GOOD],
  ])('%s - counts as malformed: the next malformed walk is accepted', async (_kind, products) => {
    await makeOldCopy(products)
    const completedAtMs = fixture.clock.nowMs()
    await migrate()
    expect(await readState()).toMatchObject({
      currentWalk: 1,
      productCount: 120,
      completedAtMs,
      isMalformed: true,
      held: null,
    })
    expect(await walkLater(MALFORMED)).toBe('complete 120')
    expect(await readState()).toMatchObject({ isMalformed: true, dealCount: 0, held: null })
  })

  test('after a good walk - the next malformed one is held', async () => {
    await makeOldCopy(MALFORMED)
    expect(await walkLater(GOOD)).toBe('complete 120')
    expect(await readState()).toMatchObject({ isMalformed: false, dealCount: 120 })
    expect(await walkLater(MALFORMED)).toBe('held 120')
    expect(await readState()).toMatchObject({ dealCount: 120, held: { reason: 'malformed_offers' } })
  })

  test('pictures - are found by their names', async () => {
    const address = 'https://pictures.example/lamp.jpg'
    await makeOldCopy(GOOD.map((product) => ({ ...product, images: [{ url: address }] })))
    const { writer, close } = await openCopyDatabase(parseSerializedAddress(fixture.job.database))
    await fillNextPictures(writer)
    await close()
    expect(await fixture.copy.findPicture(toPictureHash(address))).toBe(address)
  })

  test('walk that finds no products - is held at once', async () => {
    await makeOldCopy(MALFORMED)
    expect(await walkLater([])).toBe('held 0')
    expect(await readState()).toMatchObject({ productCount: 120, held: { reason: 'few_products' } })
  })
})
