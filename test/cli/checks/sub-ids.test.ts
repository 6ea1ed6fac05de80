import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Environment } from '../../../src/config/config.ts'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct } from '../../helpers/fake-catalog.ts'
import { makeFolder, runInProcess, startRemoteCatalog } from '../run-cli.ts'

const LINKS: readonly (readonly [network: string, link: string])[] = [
  ['awin', 'https://www.awin1.com/cread.php?awinmid=1&hash=2'],
  ['Awin', 'https://www.awin1.com/cread.php?awinmid=2&ued=https%3A%2F%2Fa.example'],
  ['awin', 'https://www.awin1.com/cread.php?awinmid=3&clickref=mine'],
  ['tradetracker', 'https://tc.tradetracker.net/?c=1&m=12&a=2&r=&u=%2F'],
  ['impact', 'https://own-domain.example/c/1/2/3'],
  ['Zed', 'https://zed.example/?id=1'],
  ['cj', 'https://www.kqzyfj.com/click-1-2?sid=mine'],
]

async function startWithLinks(): Promise<Environment> {
  const { catalog, settings } = await startRemoteCatalog(makeFolder())
  const offers = LINKS.map(([network, affiliate_url], index) =>
    makeWireOffer({ merchant: { name: `Shop ${index}` }, network, affiliate_url, price: `${index + 1}` }),
  )
  catalog.products.set(CHANNEL_ID, [makeWireProduct({ offers })])
  await runInProcess(['sync'], settings)
  return settings
}

const SHIPPED = { VITRINE_SUB_IDS_FILE: join(PACKAGE_FOLDER, 'deploy/sub-ids.json') }

describe('check of sub-ids', () => {
  test('links of several networks - one of each before and after, or why it stays', async () => {
    const { code, out } = await runInProcess(['check'], { ...(await startWithLinks()), ...SHIPPED })
    expect(out).toContain('good   sub-ids: rules for 10 networks')
    expect(out.slice(out.indexOf('good   network '))).toBe(
      [
        'good   network awin: 1 of 3 links can carry a sub-id; 1 not: signed, so any change could make it invalid; 1 not: it already has a sub-id',
        '       before https://www.awin1.com/cread.php?awinmid=2&ued=https%3A%2F%2Fa.example',
        '       after  https://www.awin1.com/cread.php?clickref=EXAMPLE-SUB-ID&awinmid=2&ued=https%3A%2F%2Fa.example',
        'good   network cj: 0 of 1 link can carry a sub-id; 1 not: it already has a sub-id',
        '       before https://www.kqzyfj.com/click-1-2?sid=mine',
        '       after  unchanged',
        'note   network impact: 0 of 1 link can carry a sub-id; 1 not: no rule of the network fits the host and form',
        '       before https://own-domain.example/c/1/2/3',
        '       after  unchanged',
        '       Add a rule to the file of VITRINE_SUB_IDS_FILE, if the network has sub-ids (docs/publish/sub-ids.md).',
        'good   network tradetracker: 1 of 1 link can carry a sub-id',
        '       before https://tc.tradetracker.net/?c=1&m=12&a=2&r=&u=%2F',
        '       after  https://tc.tradetracker.net/?c=1&m=12&a=2&r=EXAMPLE-SUB-ID&u=%2F',
        'note   network Zed: 0 of 1 link can carry a sub-id; 1 not: the file has no rule for the network',
        '       before https://zed.example/?id=1',
        '       after  unchanged',
        '       Add a rule to the file of VITRINE_SUB_IDS_FILE, if the network has sub-ids (docs/publish/sub-ids.md).',
      ].join('\n'),
    )
    expect(code).toBe(0)
  })

  test('--json - has the link before and after', async () => {
    const { out } = await runInProcess(['check', '--json'], { ...(await startWithLinks()), ...SHIPPED })
    const findings = JSON.parse(out) as { subject: string; example?: unknown }[]
    const examples = new Map(findings.map(({ subject, example }) => [subject, example]))
    expect(examples.get('network cj')).toEqual({
      before: 'https://www.kqzyfj.com/click-1-2?sid=mine',
      after: null,
    })
    expect(examples.get('network tradetracker')).toEqual({
      before: 'https://tc.tradetracker.net/?c=1&m=12&a=2&r=&u=%2F',
      after: 'https://tc.tradetracker.net/?c=1&m=12&a=2&r=EXAMPLE-SUB-ID&u=%2F',
    })
  })

  test('without the file - says nothing', async () => {
    const { out } = await runInProcess(['check'], await startWithLinks())
    expect(out).not.toMatch(/sub-id|network/)
  })

  test('invalid file - exit code 78, and the message says why', async () => {
    const folder = makeFolder()
    const { settings } = await startRemoteCatalog(folder)
    const path = join(folder, 'sub-ids.json')
    writeFileSync(path, '{"awin":{}}')
    for (const command of ['check', 'serve']) {
      const { code, err } = await runInProcess([command], { ...settings, VITRINE_SUB_IDS_FILE: path })
      expect([code, err]).toEqual([
        78,
        expect.stringContaining('VITRINE_SUB_IDS_FILE: the file has invalid entries'),
      ])
    }
  })
})
