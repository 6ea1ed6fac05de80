import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import request from 'supertest'
import { describe, expect, test } from 'vitest'
import { CHANNEL_KINDS, MAX_PAGE_PRODUCTS } from '../../src/catalog/contract.ts'
import { isPrice } from '../../src/offers/money.ts'
import { PACKAGE_FOLDER } from '../../src/lib/files.ts'
import { type ServiceUnderTest, importRows, createProduct, startTestService } from './harness.ts'
import { OPENAPI_DOCUMENT, type ResponseObject } from './openapi-document.ts'
import {
  type ObservedResponse,
  requestValidated,
  findResponseProblems,
  findOperation,
} from './openapi-validation.ts'
import { getReader, getUsage } from './store-handles.ts'

/** On several lines: the validator treats a single line as a file name. */
const toText = (document: object): string => JSON.stringify(document, null, 2)

async function countRequests({ store }: ServiceUnderTest): Promise<number> {
  return (await (await getUsage(store)).selectFrom('usage').selectAll().execute()).length
}

describe('document', () => {
  test('document - OpenAPI 3.1 schema - is valid', async () => {
    const validator = new Validator()
    expect(await validator.validate(toText(OPENAPI_DOCUMENT))).toMatchObject({ valid: true })
    expect(validator.version).toBe('3.1')
  })

  test('changed document - same schema - is invalid', async () => {
    const changed = { ...OPENAPI_DOCUMENT, paths: { channels: { get: { responses: [] } } } }
    expect((await new Validator().validate(toText(changed))).valid).toBe(false)
  })

  test('kinds, prices and page sizes - agree with the code', () => {
    const { schemas, parameters } = OPENAPI_DOCUMENT.components
    expect(schemas['Channel']).toMatchObject({ properties: { kind: { enum: CHANNEL_KINDS } } })
    const { price } = (schemas['Offer'] as { properties: { price: { pattern: string } } }).properties
    for (const text of ['7', '123456789012.3456', '1234567890123', '1.23456', '1,5', '.5', '-1', '1e3', ''])
      expect([text, new RegExp(price.pattern).test(text)]).toEqual([text, isPrice(text)])
    expect(parameters['Limit']?.schema).toMatchObject({ minimum: 1, maximum: MAX_PAGE_PRODUCTS, default: 50 })
  })

  test('docs/operate/openapi.json - is a copy of the document', () => {
    expect(JSON.parse(readFileSync(join(PACKAGE_FOLDER, 'docs/operate/openapi.json'), 'utf8'))).toEqual(
      OPENAPI_DOCUMENT,
    )
  })

  test('every reference - resolves, and every component is used', () => {
    const text = JSON.stringify(OPENAPI_DOCUMENT)
    const used = new Set([...text.matchAll(/"\$ref":"#\/components\/([\w/-]+)"/g)].map(([, name]) => name))
    const { parameters, headers, responses, schemas } = OPENAPI_DOCUMENT.components
    const definedNames = Object.entries({ parameters, headers, responses, schemas }).flatMap(([kind, all]) =>
      Object.keys(all).map((name) => `${kind}/${name}`),
    )
    expect(used).toEqual(new Set(definedNames.filter((name) => name !== 'responses/AddressNotFound')))
  })

  test('examples - of every operation - are valid', () => {
    for (const [path, { get }] of Object.entries(OPENAPI_DOCUMENT.paths)) {
      const { content } = get.responses['200'] as ResponseObject
      const text = JSON.stringify(content?.['application/json'].example)
      expect(findResponseProblems({ ...VALID, path, text })).toEqual([])
    }
  })
})

const OFFER = {
  merchant: { name: 'Kopje' },
  network: 'brightlink',
  price: '49.90',
  currency: 'EUR',
  availability: 'in_stock',
  affiliate_url: 'https://links.example/c',
}

/** A valid response for tests to change. */
const VALID: ObservedResponse = {
  method: 'GET',
  path: '/v0/channels',
  status: 200,
  headers: {
    'cache-control': 'private, max-age=300',
    'content-type': 'application/json; charset=utf-8',
    etag: '"x"',
    vary: 'Authorization, Accept-Encoding',
  },
  text: '{"items":[]}',
}

describe('response validation', () => {
  const product = { gtin: '09520001001024', title: 'T', images: [], offers: [] }
  const list = '/v0/channels/952a0000-0000-4000-8000-000000000001/products'

  test('valid response - no problem', () => {
    expect(findResponseProblems(VALID)).toEqual([])
  })

  test.each<[string, Partial<ObservedResponse>, string]>([
    ['a status that is not documented', { status: 418 }, 'status 418'],
    ['404 of an operation that has no 404', { status: 404 }, 'status 404'],
    ['200 to a POST', { method: 'POST' }, 'status 200'],
    ['200 at an unknown address', { path: '/v0/nothing' }, 'status 200'],
    ['no ETag', { headers: { ...VALID.headers, etag: undefined } }, 'ETag is missing'],
    ['a weak ETag', { headers: { ...VALID.headers, etag: 'W/"x"' } }, 'ETag'],
    ['another Cache-Control', { headers: { ...VALID.headers, 'cache-control': 'public' } }, 'Cache-Control'],
    ['no Vary', { headers: { ...VALID.headers, vary: undefined } }, 'Vary is missing'],
    ['another type', { headers: { ...VALID.headers, 'content-type': 'text/html' } }, 'not sent as JSON'],
    ['a body to HEAD', { method: 'HEAD' }, 'a body'],
    ['a body of 304', { status: 304 }, 'a body'],
    ['a field that is not documented', { text: '{"items":[],"total":0}' }, 'additional properties'],
    ['a field missing', { text: '{}' }, "required property 'items'"],
    [
      'a channel of an unknown kind',
      { text: '{"items":[{"id":"x","name":"","kind":"?","url":null}]}' },
      'kind',
    ],
    ['no next_cursor', { path: list, text: '{"items":[]}' }, "required property 'next_cursor'"],
    ['a product without offers', { path: `${list}/17`, text: JSON.stringify(product) }, 'offers'],
    ['429 without Retry-After', { status: 429, text: '{"error":"x"}' }, 'Retry-After is missing'],
    ['an error that is not a string', { status: 500, text: '{"error":5}' }, 'error must be string'],
  ])('%s - is a problem', (_name, change, problem) => {
    expect(findResponseProblems({ ...VALID, ...change }).join()).toContain(problem)
  })

  test.each([
    ['an unknown field', { colour: 'red' }],
    ['a GTIN of 13 digits', { gtin: '9520001001024' }],
    ['null as the brand', { brand: null }],
    ['a price that is a number', { offers: [{ ...OFFER, price: 49.9 }] }],
    ['a link of another kind', { offers: [{ ...OFFER, affiliate_url: 'ftp://a' }] }],
  ])('product with %s - is a problem', (_name, change) => {
    const valid = { ...product, offers: [OFFER] }
    const [before, after] = [valid, { ...valid, ...change }].map((response) =>
      findResponseProblems({ ...VALID, path: `${list}/17`, text: JSON.stringify(response) }),
    )
    expect(before).toEqual([])
    expect(after).not.toEqual([])
  })

  test('request of a test - response not in the document - fails', async () => {
    const fixture = await startTestService()
    const channel = await createBadChannel(fixture)
    await fixture.store.write((database) => database.insertInto('channels').values(channel).execute())
    await expect(fixture.get('/v0/channels')).rejects.toThrow('GET /v0/channels: body')
  })
})

async function createBadChannel({ store }: ServiceUnderTest): Promise<{
  id: string
  organization_id: string
  name: string
  kind: 'website'
  url: null
  created_at_ms: number
}> {
  const { id } = await (
    await getReader(store)
  )
    .selectFrom('organizations')
    .select('id')
    .executeTakeFirstOrThrow()
  return { id: 'no uuid', organization_id: id, name: 'x', kind: 'website', url: null, created_at_ms: 1 }
}

/** Collect every status of one operation from a new service. */
async function collectStatuses(path: string, bad: readonly string[]): Promise<Set<string>> {
  const fixture = await startTestService()
  const { channelId } = await importRows(fixture, [createProduct('17')])
  const address = path.replace('{channelId}', channelId).replace('{gtin}', '17')
  const { headers } = await fixture.get(address).expect(200)
  const responses = [
    await fixture.get(address),
    await fixture.get(address).set('If-None-Match', String(headers['etag'])),
    await requestValidated(fixture.url).get(address),
    await requestValidated(fixture.url).post(address).set('Authorization', `Bearer ${fixture.key}`),
  ]
  for (const badPath of bad) responses.push(await fixture.get(badPath.replace('{channelId}', channelId)))
  await fixture.store.write((database) =>
    database.updateTable('organizations').set({ daily_limit: 1 }).execute(),
  )
  responses.push(await fixture.get(address))
  await fixture.store.write((database) =>
    database.updateTable('organizations').set({ daily_limit: null }).execute(),
  )
  await fixture.store.write((database) =>
    database.schema.alterTable('channels').renameTo('renamed').execute(),
  )
  responses.push(await fixture.get(address))
  return new Set(responses.map(({ status }) => String(status)))
}

describe('statuses', () => {
  test.each([
    ['/v0/channels', []],
    [
      '/v0/channels/{channelId}/products',
      [
        '/v0/channels/{channelId}/products?limit=0',
        '/v0/channels/952a0000-0000-4000-8000-000000000009/products',
      ],
    ],
    [
      '/v0/channels/{channelId}/products/{gtin}',
      ['/v0/channels/{channelId}/products/x', '/v0/channels/{channelId}/products/18'],
    ],
  ])(
    '%s - all kinds of requests - give each documented status except 503, and no other',
    async (path, bad) => {
      const documented = Object.keys(findOperation(path)?.responses ?? {})
      // 503 needs the internal key and an empty catalog: see access.test.ts.
      expect(await collectStatuses(path, bad)).toEqual(
        new Set(documented.filter((status) => status !== '503')),
      )
    },
  )
})

describe('/openapi.json', () => {
  test('no key, GET and HEAD - is the document, cacheable for five minutes, and not counted', async () => {
    const fixture = await startTestService()
    const path = '/openapi.json'
    const response = await request(fixture.url).get(path).expect(200)
    expect(response.body).toEqual(OPENAPI_DOCUMENT)
    expect(response.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'public, max-age=300',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    })
    const { headers } = await request(fixture.url).head(path).expect(200)
    expect(headers['etag']).toMatch(/^"/)
    expect(headers['etag']).toBe(response.headers['etag'])
    await request(fixture.url).get(path).set('If-None-Match', String(headers['etag'])).expect(304)
    await request(fixture.url).get(path).set('Authorization', 'Bearer wrong').expect(200)
    await fixture.get(path).expect(200)
    expect(await countRequests(fixture)).toBe(0)
  })

  test('POST - 405', async () => {
    const { url } = await startTestService()
    const { headers, body } = await request(url).post('/openapi.json').expect(405)
    expect([headers['allow'], headers['cache-control']]).toEqual(['GET, HEAD', 'no-store'])
    expect(body).toEqual({ error: expect.any(String) })
  })
})
