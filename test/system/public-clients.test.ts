import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PACKAGE_FOLDER } from '../../src/lib/files.ts'
import type { Visit } from './clients/public/visit.ts'
import { addCleanup, setUpOnce } from '../helpers/cleanup.ts'
import { createClients, compileWithMistakes, loadVisit } from './generated-clients.ts'
import { useServer } from './use-server.ts'

const CLIENTS = ['by-openapi-fetch.ts', 'by-codegen.ts'] as const
const FILES = [...CLIENTS, 'visit.ts', 'same-types.ts']

/** The TypeScript example of docs/publish/data.md. */
function readExample(): string {
  const page = readFileSync(join(PACKAGE_FOLDER, 'docs/publish/data.md'), 'utf8')
  return /```ts\n(.*?)```/s.exec(page)?.[1] ?? ''
}

/** Mistakes: file, correct code, and wrong code. */
const MISTAKES = [
  ['by-openapi-fetch.ts', 'box.product.title', 'box.title'],
  ['by-openapi-fetch.ts', "box?.state !== 'shown'", "box?.state !== 'visible'"],
  ['by-openapi-fetch.ts', "if (deals?.state !== 'shown') throw new Error(deals?.reason)", ''],
  ['by-openapi-fetch.ts', "sort: 'price'", "sort: 'cheap'"],
  ['by-openapi-fetch.ts', "merchant: ['nobody', 'no one']", "isolate: 'shadow'"],
  ['by-codegen.ts', 'box.product.title', 'box.title'],
  ['by-codegen.ts', "if (deals.state !== 'shown') throw new Error(deals.reason)", ''],
  ['by-codegen.ts', 'limit: 2', "limit: 'two'"],
  ['same-types.ts', 'OfferJson: published.OfferJson', 'OfferJson: published.DealJson'],
  ['same-types.ts', '  PickJson: published.PickJson\n', ''],
  ['example.ts', 'box.notices', 'box.notes'],
  ['example.ts', "if (box.state === 'shown')", ''],
] as const

describe('clients generated from /openapi.json', () => {
  const server = useServer({ VITRINE_JSON: 'on' })
  const getFolder = setUpOnce(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'vitrine-clients-'))
    addCleanup(() => rmSync(folder, { recursive: true, force: true }))
    const response = await fetch(`${server.addresses.publicUrl}/openapi.json`)
    const files = FILES.map((file) => `public/${file}`)
    await createClients({ folder, document: await response.text(), files })
    writeFileSync(join(folder, 'example.ts'), readExample())
    return folder
  })

  test('type check - clients, published types and the example pass, and each mistake is an error', async () => {
    const { failing, copies, output } = await compileWithMistakes(getFolder(), MISTAKES)
    expect(failing, output).toEqual(copies)
  })

  test.each(CLIENTS)('%s - box, round-up, deals, oEmbed and failures - reads them', async (file) => {
    const { publicUrl, box } = server.addresses
    const [, channel = '', gtin = ''] = /\/embeds\/([^/]+)\/where-to-buy\/(\d+)/.exec(box) ?? []
    const visit = await loadVisit<Visit>(getFolder(), file)
    const visited = await visit({ baseUrl: publicUrl, channel, gtin })
    expect(visited).toMatchObject({
      box: { title: expect.stringMatching(/\w/), hasPrices: true },
      hidden: expect.stringContaining('merchant=no one, nobody'),
      picks: [gtin, expect.stringMatching(/^\d{14}$/)],
      hasNextPage: true,
      unknown: [404, 'invalid'],
      oembedType: 'rich',
    })
    expect(visited.box.merchants.length).toBeGreaterThan(2)
    expect(visited.discounts.filter((percent) => percent > 0)).toHaveLength(2)
  })
})
