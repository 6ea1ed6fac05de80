import { expect, test } from 'vitest'
import { GTINS, importText, openTestStore } from '../harness.ts'
import { getReader } from '../store-handles.ts'

const MAP = JSON.stringify({
  format: 'table',
  fields: {
    gtin: 'gtin',
    title: 'title',
    price: 'price',
    pageLink: 'link',
    merchant: 'shop',
    merchantReference: 'reference',
  },
})

test.each([
  ['in the first row of the shop', ['77', ''], '77'],
  ['in a later row', ['', '77'], '77'],
  ['in two rows, different', ['77', '78'], '77'],
])("network's id of a shop - %s - is stored", async (_, references, expected) => {
  const fixture = await openTestStore()
  const rows = references.map(
    (reference, index) => `${GTINS[index]},Cup,1 EUR,https://shop.example/${index},Shop,${reference}\n`,
  )
  await importText(fixture, `gtin,title,price,link,shop,reference\n${rows.join('')}`, { map: MAP })
  const stored = await (
    await getReader(fixture.store)
  )
    .selectFrom('network_merchants')
    .select('reference')
    .execute()
  expect(stored).toEqual([{ reference: expected }])
})
