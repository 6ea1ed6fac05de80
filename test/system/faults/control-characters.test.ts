import { describe, expect, onTestFinished, test } from 'vitest'
import { isUnavailable, isInvalidValue } from '../../../src/database/failures.ts'
import { GRID, GRID_EMBED, makeProductOnSale, stockCatalog, fetchPath } from '../../app/app-client.ts'
import { CHANNEL_ID } from '../../helpers/fake-catalog.ts'
import { type Harness, createHarness } from '../../helpers/harness.ts'
import { usePostgres } from '../../helpers/postgres.ts'

const ADMIN = { Authorization: `Basic ${Buffer.from('admin:p').toString('base64')}` }
const BAD = 400

const server = usePostgres()

/** Start a server with a walked copy on a real PostgreSQL, which rejects text with NUL. */
async function startOnPostgres(): Promise<Harness> {
  const database = await server.makeDatabase()
  const harness = await createHarness({
    settings: { VITRINE_DATABASE_URL: database.url, VITRINE_ADMIN_PASSWORD: 'p' },
  })
  onTestFinished(async () => {
    await harness.dispose()
    await database.drop()
  })
  await stockCatalog(harness, [makeProductOnSale()])
  return harness
}

async function countStoreFailures(harness: Harness): Promise<string | undefined> {
  const { text } = await fetchPath(harness, '/metrics', ADMIN)
  return /^vitrine_store_failures_total (\d+)$/m.exec(text)?.[1]
}

describe('control characters on PostgreSQL', () => {
  test('in any option - 400 that names the option; the database is not queried, and no store failure is counted', async () => {
    const harness = await startOnPostgres()
    for (const name of ['brand', 'q', 'merchant', 'exclude']) {
      for (const text of ['%00', 'a%00b', '%1f', 'a%7F', '%C2%80', '%C2%9Fa', 'a%0A']) {
        for (const path of [GRID, GRID_EMBED]) {
          const response = await fetchPath(harness, `${path}?${name}=${text}`)
          expect([response.status, response.headers['vitrine-state']]).toEqual([BAD, 'invalid'])
          expect(response.headers['vitrine-error']).toContain(`The parameter "${name}" accepts `)
        }
      }
    }
    expect((await fetchPath(harness, GRID)).headers['vitrine-state']).toBe('shown')
    expect(await countStoreFailures(harness)).toBe('0')
  })

  test('in channel, GTIN or offer of an address - a normal response, and no store failure is counted', async () => {
    const harness = await startOnPostgres()
    const paths = [
      '/fragments/%00/deals',
      `/fragments/${CHANNEL_ID}/where-to-buy/%00`,
      `/go/${CHANNEL_ID}/%00/%00`,
    ]
    const statuses: number[] = []
    for (const path of paths) statuses.push((await fetchPath(harness, path)).status)
    expect(statuses).toEqual([404, 200, 404])
    expect(await countStoreFailures(harness)).toBe('0')
  })

  test('control character that reaches the database - is an invalid value, not a store failure', async () => {
    const { context } = await startOnPostgres()
    const error: unknown = await context.store
      .findProduct(CHANNEL_ID, '1\0')
      .catch((reason: unknown) => reason)
    expect([isInvalidValue(error), isUnavailable(error)]).toEqual([true, false])
  })

  test('in any field of the studio - the page is shown, and no store failure is counted', async () => {
    const harness = await startOnPostgres()
    for (const query of [
      'find=a%00b',
      'channel=%00&gtin=%00',
      'merchant=%00&exclude=a%00',
      'tab=deals&brand=%00&q=a%00b&merchant=%00&exclude=%00',
      'tab=%00',
    ]) {
      expect((await fetchPath(harness, `/studio?${query}`, ADMIN)).status).toBe(200)
    }
    expect(await countStoreFailures(harness)).toBe('0')
    expect(harness.logs()).not.toContain('"level":50')
  })
})
