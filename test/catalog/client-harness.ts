import { onTestFinished } from 'vitest'
import { type CallGate, createCallGate } from '../../src/catalog/call-gate.ts'
import {
  type CatalogClient,
  type CatalogClientOptions,
  createCatalogClient,
} from '../../src/catalog/client.ts'
import { createFixedKey } from '../../src/config/key-source.ts'
import { DAY_MS, SECOND_MS } from '../../src/clock.ts'
import { Secret } from '../../src/config/secrets.ts'
import { CHANNEL_ID, FAKE_KEY, type FakeCatalog, startFakeCatalog } from '../helpers/fake-catalog.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'

export const START_MS: number = Date.UTC(2026, 10, 21, 12)
export const TIMEOUT_MS: number = 5 * SECOND_MS
export const MAX_BYTES = 64 * 1024
export const GTIN = '09521234567899'

/** A client with what it was made of and the outcomes that it told. */
export type ClientUnderTest = {
  client: CatalogClient
  clock: FakeClock
  gate: CallGate
  options: CatalogClientOptions
  /** `operation outcome`, one a call. */
  outcomes: string[]
}

/** Makes a client for `baseUrl`, closed after the test. */
export function makeClient(baseUrl: string, over: Partial<CatalogClientOptions> = {}): ClientUnderTest {
  const clock = createFakeClock(START_MS)
  const gate = createCallGate({ clock, unknownLookupsPerHour: 600 })
  const outcomes: string[] = []
  const options: CatalogClientOptions = {
    baseUrl,
    key: createFixedKey(new Secret(FAKE_KEY)),
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
    ownOrigin: 'https://widgets.example',
    clock,
    gate,
    onCall: ({ operation, outcome }) => void outcomes.push(`${operation} ${outcome}`),
    ...over,
  }
  const client = createCatalogClient(options)
  onTestFinished(() => client.close())
  return { client, clock, gate, options, outcomes }
}

/** A fake catalog that ends with the test. */
export async function startCatalog(): Promise<FakeCatalog> {
  const catalog = await startFakeCatalog()
  onTestFinished(() => catalog.close())
  return catalog
}

/** One call of each operation. */
export const OPERATIONS: Readonly<Record<string, (client: CatalogClient) => Promise<unknown>>> = {
  channels: (client) => client.fetchChannels(),
  products: (client) => client.fetchProductPage({ channelId: CHANNEL_ID, cursor: null }),
  product: (client) => client.findProduct({ channelId: CHANNEL_ID, gtin: GTIN, purpose: 'refresh' }),
}

/** The code of the error that a call ends with; watched from now on, so that nothing is unhandled meanwhile. */
export async function watchFailure(call: Promise<unknown>): Promise<unknown> {
  try {
    await call
    return 'answered'
  } catch (error) {
    return (error as { code?: unknown }).code
  }
}

/** The next call of the same client, with any pause over, is answered. */
export async function isNextCallAnswered({ client, clock }: ClientUnderTest): Promise<boolean> {
  clock.advance(2 * DAY_MS)
  const { value } = await client.fetchChannels()
  return value.length === 1
}
