import { onTestFinished } from 'vitest'
import { type CallPolicy, createCallPolicy } from '../../src/catalog/call-policy.ts'
import {
  type CatalogClient,
  type CatalogClientOptions,
  createCatalogClient,
} from '../../src/catalog/client.ts'
import { createFixedKeySource } from '../../src/config/key-source.ts'
import { DAY_MS, SECOND_MS } from '../../src/clock.ts'
import { Secret } from '../../src/config/secrets.ts'
import { CHANNEL_ID, FAKE_KEY, type FakeCatalog, startFakeCatalog } from '../helpers/fake-catalog.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { NO_PROXIES } from '../helpers/proxies.ts'

export const START_MS: number = Date.UTC(2026, 10, 21, 12)
export const TIMEOUT_MS: number = 5 * SECOND_MS
export const MAX_BYTES = 64 * 1024
export const GTIN = '09521234567899'

/** A client with its parts and reported outcomes. */
export type ClientUnderTest = {
  client: CatalogClient
  clock: FakeClock
  callPolicy: CallPolicy
  options: CatalogClientOptions
  /** `operation outcome` of each call. */
  outcomes: string[]
}

/** Create a client for `baseUrl`, closed after the test. */
export function createClient(
  baseUrl: string,
  overrides: Partial<CatalogClientOptions> = {},
): ClientUnderTest {
  const clock = createFakeClock(START_MS)
  const callPolicy = createCallPolicy({ clock, unknownLookupsPerHour: 600 })
  const outcomes: string[] = []
  const options: CatalogClientOptions = {
    baseUrl,
    key: createFixedKeySource(new Secret(FAKE_KEY)),
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
    proxies: NO_PROXIES,
    ownOrigin: 'https://widgets.example',
    clock,
    callPolicy,
    onCall: ({ operation, outcome }) => void outcomes.push(`${operation} ${outcome}`),
    ...overrides,
  }
  const client = createCatalogClient(options)
  onTestFinished(() => client.close())
  return { client, clock, callPolicy, options, outcomes }
}

/** Start a fake catalog that is closed after the test. */
export async function startCatalog(): Promise<FakeCatalog> {
  const catalog = await startFakeCatalog()
  onTestFinished(() => catalog.close())
  return catalog
}

/** One call of each operation. */
export const OPERATIONS: Readonly<Record<string, (client: CatalogClient) => Promise<unknown>>> = {
  channels: (client) => client.fetchChannels(),
  products: (client) => client.fetchProductPage({ channelId: CHANNEL_ID, cursor: null }),
  product: (client) => client.fetchProduct({ channelId: CHANNEL_ID, gtin: GTIN, purpose: 'refresh' }),
}

/** Return the error code of a call. Subscribes at once, so that the rejection is never unhandled. */
export async function getFailureCode(call: Promise<unknown>): Promise<unknown> {
  try {
    await call
    return 'succeeded'
  } catch (error) {
    return (error as { code?: unknown }).code
  }
}

/** Expect the next call of the same client to succeed after any pause. */
export async function isNextCallSuccessful({ client, clock }: ClientUnderTest): Promise<boolean> {
  clock.advance(2 * DAY_MS)
  const { value } = await client.fetchChannels()
  return value.length === 1
}
