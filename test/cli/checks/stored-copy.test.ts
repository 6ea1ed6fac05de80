import { expect, test } from 'vitest'
import { CheckReport, findFrameOriginHint } from '../../../src/cli/checks/report.ts'
import { checkChannels } from '../../../src/cli/checks/stored-copy.ts'
import { parseConfig } from '../../../src/config/config.ts'
import { OBSERVED_DAYS, WALKED_COPY } from '../../helpers/studio-view.ts'

/** The problem of a channel whose last walk dropped `drops`; `null`: no problem. */
async function runChannelCheck(
  drops: Record<string, number>,
  offerCount: number,
  productCount = 80,
): Promise<string | null> {
  const report = new CheckReport(parseConfig({}).config)
  const channel = { id: 'a', name: 'A', kind: 'website', url: 'https://a.example' } as const
  const store = {
    getCopyState: () => Promise.resolve({ ...WALKED_COPY, productCount, drops }),
    countOffers: () => Promise.resolve(offerCount),
    countObservedDays: () => Promise.resolve(OBSERVED_DAYS),
  }
  const nowMs = WALKED_COPY.completedAtMs ?? 0
  await checkChannels(report, { catalogChannels: [channel], storedList: undefined, store, nowMs })
  const [finding] = report.findings
  return finding?.isGood === false ? finding.message : null
}

test.each([
  [
    'more than a fifth of the offers',
    runChannelCheck({ price: 10, link: 11 }, 79),
    '21 % of what the last walk found was',
  ],
  ['all offers', runChannelCheck({ shape: 5 }, 0), '100 %'],
  ['more than a fifth of the products', runChannelCheck({ product: 21 }, 1_000), '21 %'],
])('%s dropped - is reported with its share', async (_case, judged, found) => {
  expect(await judged).toContain(found)
})

test.each([
  ['nothing', runChannelCheck({}, 0)],
  ['a fifth of the offers', runChannelCheck({ price: 20 }, 80)],
  ['a fifth of the products', runChannelCheck({ product: 20 }, 1_000)],
  ['offers beyond what a product may have', runChannelCheck({ too_many: 900 }, 100)],
])('%s dropped - no problem', async (_case, judged) => {
  expect(await judged).toBeNull()
})

test.each([
  [null, undefined, true],
  [null, 'https://magazine.example', false],
  ['https://magazine.example', undefined, false],
])(
  'channel at %s, VITRINE_FRAME_ANCESTORS %s - not frameable by other sites: %s',
  (url, ancestors, expected) => {
    const { config } = parseConfig({ VITRINE_FRAME_ANCESTORS: ancestors })
    expect(findFrameOriginHint(config, { id: 'a', url }) !== null).toBe(expected)
  },
)

test('channel of the embedded catalog - the hint has the command that sets its address', () => {
  const channel = { id: '11111111-2222-4333-8444-555555555555', url: null }
  const remote = { VITRINE_CATALOG_URL: 'https://catalog.example', VITRINE_CATALOG_KEY: 'a-key' }
  const command = `vitrine catalog channels set ${channel.id} --url`
  const embedded = findFrameOriginHint(parseConfig({}).config, channel)
  expect(embedded).toContain(command)
  expect(embedded).toContain('VITRINE_FRAME_ANCESTORS')
  const other = findFrameOriginHint(parseConfig(remote).config, channel)
  expect(other).not.toContain(command)
  expect(other).toContain('VITRINE_FRAME_ANCESTORS')
})
