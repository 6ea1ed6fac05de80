import request from 'supertest'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { setUpOnce } from '../../helpers/cleanup.ts'
import type { Visit } from '../clients/visit.ts'
import {
  GTINS,
  type ServiceUnderTest,
  importRows,
  createFolder,
  createProduct,
  startTestService,
  addApiKey,
} from '../../catalog-service/harness.ts'
import { fetchValidated } from '../../catalog-service/openapi-validation.ts'
import { createClients, compileWithMistakes, loadVisit } from '../generated-clients.ts'

const CLIENTS = ['by-openapi-fetch.ts', 'by-codegen.ts'] as const

/** Create a folder with the served OpenAPI document, the code that both generators produce, and the clients that use it. */
async function createServiceClients(url: string): Promise<string> {
  const folder = createFolder()
  const { text } = await request(url).get('/openapi.json').expect(200)
  await createClients({ folder, document: text, files: ['visit.ts', ...CLIENTS] })
  return folder
}

async function startWithProducts(): Promise<ServiceUnderTest> {
  const fixture = await startTestService()
  await importRows(
    fixture,
    GTINS.map((gtin) => createProduct(gtin)),
  )
  return fixture
}

/** Mistakes: file of the client, correct code, and wrong code. */
const MISTAKES = [
  ['by-openapi-fetch.ts', 'merchant.name', 'merchant.title'],
  ['by-openapi-fetch.ts', 'data?.brand', 'data?.maker'],
  ['by-openapi-fetch.ts', "'/v0/channels')\n  const items", "'/v0/channel')\n  const items"],
  ['by-openapi-fetch.ts', 'path: { channelId }, query', 'path: {}, query'],
  ['by-openapi-fetch.ts', '? { limit: 2 }', "? { limit: 'two' }"],
  ['by-openapi-fetch.ts', 'cursor = page.data.next_cursor', 'cursor = page.data.cursor'],
  ['by-codegen.ts', 'merchant.name', 'merchant.title'],
  ['by-codegen.ts', '{ channelId, gtin }', '{ gtin }'],
  ['by-codegen.ts', '{ channelId, limit: 2 }', "{ channelId, limit: 'two' }"],
  ['by-codegen.ts', 'brand: found.brand', 'brand: found.offers'],
] as const

describe('clients generated from the OpenAPI document', () => {
  const getFolder = setUpOnce(async () => createServiceClients((await startTestService()).url))

  test('type check - correct clients pass, and each mistake is an error', async () => {
    const { failing, copies, output } = await compileWithMistakes(getFolder(), MISTAKES)
    expect(failing, output).toEqual(copies)
  })

  test.each(CLIENTS)('%s - all three operations and all pages - reads the catalog', async (file) => {
    const fixture = await startWithProducts()
    const { key } = await addApiKey(fixture.store, file)
    vi.stubGlobal('fetch', fetchValidated)
    onTestFinished(() => void vi.unstubAllGlobals())
    const visit = await loadVisit<Visit>(getFolder(), file)
    expect(await visit({ baseUrl: fixture.url, key, gtin: '17', missingGtin: '99999999999994' })).toEqual({
      channelNames: ['My website'],
      gtins: [...GTINS],
      pages: 3,
      merchants: ['Shop A'],
      brand: 'Brand',
      missing: 404,
      refused: 401,
    })
  })
})
