import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { CHANNEL_ID, sendJson } from '../helpers/fake-catalog.ts'
import { toGtin } from '../helpers/products.ts'
import { damageTables } from '../storage/damage.ts'
import { makeWalkPlace, makeWireProducts } from './walk-place.ts'

const OTHER_ID = '00000000-0000-4000-8000-000000000002'

test('page fetched ahead of a failed walk - arrives while the next channel is walked - is not taken for its own', async () => {
  const place = await makeWalkPlace()
  const first = { id: CHANNEL_ID, name: 'First', kind: 'website', url: 'https://first.example/' } as const
  place.catalog.channels = [first, { ...first, id: OTHER_ID, name: 'Other' }]
  // Nothing of the first channel's walk can be stored, as on a disk that is full.
  const channel = `select id from copies where channel_id = '${CHANNEL_ID}'`
  const refusal = `begin select raise(abort, 'database or disk is full'); end`
  damageTables(
    place.order.database.replace('sqlite:', ''),
    `create trigger full before insert on walk_pages when new.copy_id = (${channel}) ${refusal}`,
  )
  const products = makeWireProducts(400, 'First')
  let ahead: ServerResponse | undefined
  place.catalog.fault = {
    matches: /\/products\?/,
    does({ url = '' }, response) {
      if (url.includes('cursor=')) ahead = response
      else if (url.includes(CHANNEL_ID))
        sendJson(response, 200, { items: products.slice(0, 200), next_cursor: toGtin(199) })
      else {
        if (ahead !== undefined) sendJson(ahead, 200, { items: products.slice(200), next_cursor: null })
        sendJson(response, 200, { items: makeWireProducts(3, 'Other'), next_cursor: null })
      }
    },
  }
  expect((await place.walk()).walks).toMatchObject([
    { outcome: 'failed', failure: 'VITRINE_STORE_FAILED' },
    { outcome: 'complete', productCount: 3 },
  ])
  expect(ahead).toBeDefined()
  expect((await place.copy.findProduct(OTHER_ID, toGtin(0)))?.product?.title).toBe('Other 0')
  expect((await place.copy.findProduct(OTHER_ID, toGtin(200)))?.product ?? null).toBeNull()
})
