import request from 'supertest'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { makeFolder, runBuilt, startBuilt, startRemoteCatalog } from '../../cli/run-cli.ts'
import { CHANNEL_ID, makeWireProduct } from '../../helpers/fake-catalog.ts'
import { type TestDatabase, usePostgres } from '../../helpers/postgres.ts'
import { toGtin } from '../../helpers/products.ts'

const server = usePostgres()
let database: TestDatabase
beforeEach(async () => {
  database = await server.makeDatabase()
  onTestFinished(() => database.drop())
})

async function makeSettings(): Promise<Readonly<Record<string, string>>> {
  const { catalog, settings } = await startRemoteCatalog(makeFolder())
  catalog.products.set(CHANNEL_ID, [makeWireProduct({ gtin: toGtin(1) })])
  return { ...(settings as Record<string, string>), VITRINE_DATABASE_URL: database.url }
}

test.each(['1', '2'])(
  'serve with %s worker(s) - stores its walk in PostgreSQL, and shows the product',
  async (workers) => {
    const settings = { ...(await makeSettings()), VITRINE_WORKERS: workers }
    const running = startBuilt(['serve', '--json'], settings)
    const { publicUrl } = JSON.parse(await running.firstLine) as { publicUrl: string }
    const visit = (): Promise<request.Response> =>
      Promise.resolve(request(publicUrl).get(`/fragments/${CHANNEL_ID}/where-to-buy/${toGtin(1)}`))
    await vi.waitFor(async () => expect((await visit()).headers['vitrine-state']).toBe('shown'))
    const walked = await server.run(database.url, 'select current_walk from vitrine_copy.copies')
    expect(walked).toEqual([{ current_walk: 1 }])
    expect(await running.stop('SIGTERM')).toMatchObject({ code: 0 })
  },
)

test('sync and check with PostgreSQL - succeed, and name the database without its user', async () => {
  const settings = await makeSettings()
  const synced = await runBuilt(['sync'], settings)
  expect(synced).toMatchObject({ code: 0 })
  const checked = await runBuilt(['check'], settings)
  expect(checked.out).toContain(`${database.address.label} opens`)
  expect(checked.out).not.toContain('owner@')
  expect(checked).toMatchObject({ code: 0 })
})
