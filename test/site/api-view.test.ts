import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { PACKAGE_FOLDER } from '../../src/lib/files.ts'

type View = Readonly<{
  operations: readonly Readonly<{ parameters: unknown; responses: unknown }>[]
  statuses: unknown
  schemas: unknown
  decisions: unknown
}>

const { toApiView } = (await import(pathToFileURL(join(PACKAGE_FOLDER, 'site/lib/api-view.mjs')).href)) as {
  toApiView: (document: object) => View
}

/** As other programs write it: nothing optional, inline parameters, other media types. */
const SPARSE = {
  info: { title: 'Widgets', version: '1.0.0' },
  paths: {
    '/feeds/{channel}/deals.atom': {
      get: {
        operationId: 'getDeals',
        parameters: [
          { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 60 } },
          { name: 'theme', in: 'query', schema: { $ref: '#/components/schemas/Theme' } },
        ],
        responses: {
          '200': { description: 'A feed.', content: { 'application/atom+xml': { example: '<feed/>' } } },
          '404': { $ref: '#/components/responses/NotFound' },
        },
      },
    },
  },
  components: {
    responses: { NotFound: { description: 'No such channel.' } },
    schemas: {
      Theme: { enum: ['light', 'dark'] },
      Price: { type: 'object', properties: { amount: { oneOf: [{ type: 'string' }, { type: 'null' }] } } },
    },
  },
}

test('document without optional parts - the view has texts for what is there', () => {
  const view = toApiView(SPARSE)
  expect(view.operations).toMatchObject([
    { title: '/feeds/{channel}/deals.atom', example: '<feed/>', curl: '', statuses: '200, 404' },
  ])
  expect(view.operations[0]?.responses).toMatchObject([
    { status: '200', segments: [{ text: 'A feed.' }] },
    { status: '404', segments: [{ text: 'No such channel.' }] },
  ])
  expect(view.operations[0]?.parameters).toMatchObject([
    { details: 'integer, query, optional', notes: [{ text: 'From 1 to 60.' }] },
    { details: 'query, optional' },
  ])
  expect(view.statuses).toMatchObject([
    { name: '200', segments: [{ text: 'The requested data.' }] },
    { name: '404', segments: [{ text: 'No such channel.' }] },
  ])
  expect(view.schemas).toMatchObject([
    { title: 'Theme', rows: [] },
    { title: 'Price', rows: [{ name: 'amount', details: 'string or null, optional' }] },
  ])
  expect(view.decisions).toEqual([])
  expect(JSON.stringify(view)).not.toMatch(/undefined|\[object|NaN/)
})
