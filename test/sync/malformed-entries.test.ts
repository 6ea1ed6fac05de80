import { expect, test } from 'vitest'
import { CHANNEL_ID, makeWireProduct, sendJson } from '../helpers/fake-catalog.ts'
import { toGtin } from '../helpers/products.ts'
import { makeWalkFixture } from './walk-fixture.ts'

const makeEntry = (index: number, changes: object): object => ({
  ...makeWireProduct({ gtin: toGtin(index) }),
  ...changes,
})

test('page with malformed entries - the copy says what each of them lacks, until a walk finds it correct', async () => {
  const fixture = await makeWalkFixture()
  const pages = [
    {
      items: [makeEntry(0, { title: null }), makeEntry(1, {}), makeEntry(2, { offers: null })],
      next_cursor: 'b',
    },
    { items: [makeEntry(3, { title: ' ' })], next_cursor: 'c' },
    { items: [{ gtin: 'x' }, makeEntry(5, {}), makeEntry(6, { offers: 'none' })], next_cursor: null },
  ]
  const setPages = (): void => {
    let page = 0
    fixture.catalog.fault = {
      pathPattern: /products\?/,
      respond: (_request, response) => sendJson(response, 200, pages[page++]),
    }
  }
  const readAll = (): Promise<unknown[]> =>
    Promise.all(
      Array.from({ length: 8 }, (_, index) => fixture.copy.findMalformedEntry(CHANNEL_ID, toGtin(index))),
    )
  setPages()
  expect((await fixture.walk({ job: { isAccepted: true } })).walks).toMatchObject([
    { outcome: 'complete', productCount: 2 },
  ])
  expect(await readAll()).toEqual([
    'title',
    undefined,
    'offers',
    'title',
    undefined,
    undefined,
    'offers',
    undefined,
  ])
  pages[0]?.items.splice(0, 1, makeEntry(0, {}))
  setPages()
  expect((await fixture.walk({ job: { isAccepted: true } })).walks).toMatchObject([
    { outcome: 'complete', productCount: 3 },
  ])
  expect((await readAll()).slice(0, 3)).toEqual([undefined, undefined, 'offers'])
})
