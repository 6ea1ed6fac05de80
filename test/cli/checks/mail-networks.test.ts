import { expect, test } from 'vitest'
import { CHANNEL_ID, makeWireOffer, makeWireProduct } from '../../helpers/fake-catalog.ts'
import { makeFolder, runInProcess, startRemoteCatalog } from '../run-cli.ts'

test('networks of newsletters - with their offers; one without any may be misspelt', async () => {
  const { catalog, settings } = await startRemoteCatalog(makeFolder())
  const offers = ['Awin', 'AWIN', 'cj', 'CJ', ''].map((network, index) =>
    makeWireOffer({ merchant: { name: `Shop ${index}` }, network }),
  )
  catalog.products.set(CHANNEL_ID, [makeWireProduct({ offers })])
  await runInProcess(['sync'], settings)
  const { code, out } = await runInProcess(['check'], { ...settings, VITRINE_MAIL_NETWORKS: 'awin, C-J' })
  expect(out.slice(out.indexOf('good   newsletters'))).toBe(
    [
      'good   newsletters, network awin: 2 offers in the first 1,000 products of each channel',
      'note   newsletters, network c-j: 0 offers in the first 1,000 products of each channel',
      '       Check the spelling in VITRINE_MAIL_NETWORKS. Other networks: CJ.',
    ].join('\n'),
  )
  expect(code).toBe(0)
})
