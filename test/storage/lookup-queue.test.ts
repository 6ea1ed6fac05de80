import { expect, test } from 'vitest'
import { type WaitingLookup, createLookupQueue, toKey } from '../../src/storage/lookup-queue.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'

const MB = 1024 * 1024

function toLookup(index: number, { offers = 1, bytes = 500 } = {}): WaitingLookup {
  const gtin = toGtin(index)
  const product = makeProduct({ gtin, offers: Array.from({ length: offers }, () => makeParsedOffer()) })
  return { channelId: 'c', gtin, entry: { product, asOfMs: 1 }, bytes }
}

test('more than 20,000 offers - have no room, until some are taken or replaced by fewer', () => {
  const queue = createLookupQueue()
  for (let index = 0; index < 20; index++) expect(queue.add(toLookup(index, { offers: 1_000 }))).toBe(true)
  expect(queue.add(toLookup(20))).toBe(false)
  expect(queue.add(toLookup(5, { offers: 1_001 }))).toBe(false)
  expect(queue.get(toKey(toLookup(5)))?.entry.product?.offers).toHaveLength(1_000)
  expect(queue.add(toLookup(5, { offers: 999 }))).toBe(true)
  expect(queue.add(toLookup(20))).toBe(true)
  expect(queue.add(toLookup(21))).toBe(false)
  queue.takeSome()
  expect(queue.add(toLookup(21, { offers: 1_000 }))).toBe(true)
})

test('more than 8 MB - have no room, until some are taken or replaced by smaller ones', () => {
  const queue = createLookupQueue()
  for (let index = 0; index < 32; index++) expect(queue.add(toLookup(index, { bytes: MB / 4 }))).toBe(true)
  expect(queue.add(toLookup(32, { bytes: 1 }))).toBe(false)
  expect(queue.add(toLookup(5, { bytes: MB / 4 + 1 }))).toBe(false)
  expect(queue.add(toLookup(5, { bytes: MB / 4 - 1 }))).toBe(true)
  expect(queue.add(toLookup(32, { bytes: 1 }))).toBe(true)
  expect(queue.takeSome()).toHaveLength(16)
  // Sixteen are left, and the one of a byte.
  expect(queue.add(toLookup(40, { bytes: 4 * MB }))).toBe(false)
  expect(queue.add(toLookup(40, { bytes: 4 * MB - 1 }))).toBe(true)
})

test('one of more than 8 MB - waits when it is alone', () => {
  const queue = createLookupQueue()
  expect(queue.add(toLookup(1, { bytes: 9 * MB }))).toBe(true)
  expect(queue.add(toLookup(2, { bytes: 9 * MB }))).toBe(false)
  expect(queue.takeSome()).toHaveLength(1)
  expect(queue.isEmpty()).toBe(true)
})

test('cleared - has room for everything again', () => {
  const queue = createLookupQueue()
  queue.add(toLookup(1, { offers: 20_000, bytes: 8 * MB }))
  queue.clear()
  expect(queue.isEmpty()).toBe(true)
  expect(queue.add(toLookup(2, { offers: 20_000, bytes: 8 * MB }))).toBe(true)
  expect(queue.add(toLookup(3, { offers: 0, bytes: 1 }))).toBe(false)
})
