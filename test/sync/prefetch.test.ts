import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { CHANNEL_ID, sendJson } from '../helpers/fake-catalog.ts'
import { defer } from '../helpers/defer.ts'
import { toGtin } from '../helpers/products.ts'
import { runUnsafeStatement } from '../storage/corrupt-database.ts'
import { makeWalkFixture, makeWireProducts } from './walk-fixture.ts'

const OTHER_ID = '00000000-0000-4000-8000-000000000002'

test('page prefetched by a failed walk - arrives while another channel is walked - is not stored in that channel', async () => {
  const fixture = await makeWalkFixture()
  const first = { id: CHANNEL_ID, name: 'First', kind: 'website', url: 'https://first.example/' } as const
  fixture.catalog.channels = [first, { ...first, id: OTHER_ID, name: 'Other' }]
  // The first channel's pages cannot be stored, as on a full disk.
  const channel = `select id from copies where channel_id = '${CHANNEL_ID}'`
  const rejection = `begin select raise(abort, 'database or disk is full'); end`
  runUnsafeStatement(
    fixture.job.database.replace('sqlite:', ''),
    `create trigger full before insert on walk_pages when new.copy_id = (${channel}) ${rejection}`,
  )
  const products = makeWireProducts(400, 'First')
  const prefetched = defer<ServerResponse>()
  fixture.catalog.fault = {
    pathPattern: /\/products\?/,
    async respond({ url = '' }, response) {
      if (url.includes('cursor=')) prefetched.resolve(response)
      else if (url.includes(CHANNEL_ID))
        sendJson(response, 200, { items: products.slice(0, 200), next_cursor: toGtin(199) })
      else {
        sendJson(await prefetched.promise, 200, { items: products.slice(200), next_cursor: null })
        sendJson(response, 200, { items: makeWireProducts(3, 'Other'), next_cursor: null })
      }
    },
  }
  expect((await fixture.walk()).walks).toMatchObject([
    { outcome: 'failed', failure: 'VITRINE_STORE_FAILED' },
    { outcome: 'complete', productCount: 3 },
  ])
  expect((await fixture.copy.findProduct(OTHER_ID, toGtin(0)))?.product?.title).toBe('Other 0')
  expect((await fixture.copy.findProduct(OTHER_ID, toGtin(200)))?.product ?? null).toBeNull()
})
