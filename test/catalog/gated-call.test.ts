import { expect, test } from 'vitest'
import { callThroughGate } from '../../src/catalog/gated-call.ts'
import { CatalogInvalidError } from '../../src/errors.ts'
import { makeClient, startCatalog } from './client-harness.ts'

const SECRET = 'https://shop.example/?tag=secret'

test('an answer that stumbles over a bug of ours - is no answer, says where, and nothing of connection or content', async () => {
  const { gate } = makeClient((await startCatalog()).url)
  const told: unknown[] = []
  const call = callThroughGate(
    { gate, onCall: ({ outcome, reason }) => void told.push([outcome, reason]) },
    () => Promise.resolve({ isNotFound: false, asOfMs: 0 }),
    {
      operation: 'product',
      purpose: 'lookup',
      parse: () => {
        throw new TypeError(`no ${SECRET}`)
      },
    },
  )
  const failure = await call.catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(CatalogInvalidError)
  expect((failure as Error).message).toMatch(
    /^the answer could not be read: TypeError at [\w-]+\.ts:\d+:\d+$/,
  )
  expect(told).toEqual([['VITRINE_CATALOG_INVALID', (failure as Error).message]])
  expect(gate.isOpen('lookup')).toBe(true)
})
