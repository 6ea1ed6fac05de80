import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { SECOND_MS } from '../../src/clock.ts'
import { Secret } from '../../src/config/secrets.ts'
import { signBody, toEventMessage } from '../../src/events/send-event.ts'
import { NOON_MS } from '../helpers/harness.ts'

const SECRET = 'test-signing-secret'
const EVENT = { id: '6f0c1a52-0000-4000-8000-000000000001', atMs: NOON_MS, channel: null }

type Verify = (headers: Record<string, string>, body: string, secret: string) => boolean

/** Load the function that the documentation gives to receivers. */
async function loadDocumentedCheck(): Promise<Verify> {
  const page = readFileSync(new URL('../../docs/operate/events.md', import.meta.url), 'utf8')
  const code = /```js\n([^]*?)```/.exec(page)?.[1] ?? ''
  const module = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as {
    isGenuine: Verify
  }
  return module.isGenuine
}

test('documented check of signatures - accepts a genuine request, and no other', async () => {
  const isGenuine = await loadDocumentedCheck()
  const body = '{"title":"Möbel"}'
  const sign = (timeSeconds: number, secret = SECRET): Record<string, string> => ({
    'vitrine-timestamp': String(timeSeconds),
    'vitrine-signature': `sha256=${signBody(new Secret(secret), timeSeconds, body)}`,
  })
  const nowSeconds = Math.floor(Date.now() / SECOND_MS)
  const headers = sign(nowSeconds)
  expect(isGenuine(headers, body, SECRET)).toBe(true)
  expect(isGenuine(headers, `${body} `, SECRET)).toBe(false)
  expect(isGenuine(sign(nowSeconds, 'another-signing-key'), body, SECRET)).toBe(false)
  expect(isGenuine(sign(nowSeconds - 301), body, SECRET)).toBe(false)
  const moved = { ...headers, 'vitrine-timestamp': String(nowSeconds + 1) }
  expect(isGenuine(moved, body, SECRET)).toBe(false)
  expect(isGenuine({}, body, SECRET)).toBe(false)
})

test('bodies - one object for each kind of event', () => {
  const product = { gtin: '09520001001024', title: 'Lamp', placements: ['a'], morePlacements: 0 }
  const read = (details: Parameters<typeof toEventMessage>[0]['details']): unknown =>
    JSON.parse(toEventMessage({ ...EVENT, details }).body)
  const head = { version: 1, id: EVENT.id, at: new Date(NOON_MS).toISOString(), channel: null }
  expect(read({ type: 'product.back', ...product })).toEqual({ ...head, type: 'product.back', product })
  expect(read({ type: 'shop.gone', merchant: 'A', name: 'B' })).toEqual({
    ...head,
    type: 'shop.gone',
    shop: { merchant: 'A', name: 'B' },
  })
  expect(read({ type: 'feed.stale', feed: 'awin', fetchedAtMs: NOON_MS })).toEqual({
    ...head,
    type: 'feed.stale',
    feed: { name: 'awin', fetchedAt: head.at },
  })
  expect(read({ type: 'feed.stale', feed: 'awin', fetchedAtMs: null })).toMatchObject({
    feed: { fetchedAt: null },
  })
})
