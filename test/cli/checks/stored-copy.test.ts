import { expect, test } from 'vitest'
import { CheckReport, type Finding } from '../../../src/cli/checks/report.ts'
import { findFrameOriginHint } from '../../../src/config/config.ts'
import { checkChannels } from '../../../src/cli/checks/stored-copy.ts'
import { parseConfig } from '../../../src/config/config.ts'
import type { CopyState } from '../../../src/storage/store.ts'
import { OBSERVED_DAYS, WALKED_COPY } from '../../helpers/studio-view.ts'

const CHANNEL = { id: 'a', name: 'A', kind: 'website', url: 'https://a.example' } as const

/** Check a channel with this copy. The catalog responds, unless `catalogChannels` is `undefined`. */
async function checkCopy(
  state: Partial<CopyState>,
  { offerCount = 0, catalogChannels }: { offerCount?: number; catalogChannels: [typeof CHANNEL] | undefined },
): Promise<Finding | undefined> {
  const report = new CheckReport(parseConfig({}).config)
  const store = {
    getCopyState: () => Promise.resolve({ ...WALKED_COPY, ...state }),
    countOffers: () => Promise.resolve(offerCount),
    countObservedDays: () => Promise.resolve(OBSERVED_DAYS),
  }
  const nowMs = WALKED_COPY.completedAtMs ?? 0
  const storedList = { asOfMs: nowMs, heldSinceMs: null, channels: [CHANNEL], gone: [] }
  await checkChannels(report, { catalogChannels, storedList, store, nowMs })
  return report.findings[0]
}

/** The problem of a channel whose last walk dropped `drops`; `null`: no problem. */
async function runChannelCheck(
  drops: Record<string, number>,
  offerCount: number,
  productCount = 80,
): Promise<string | null> {
  const finding = await checkCopy({ productCount, drops }, { offerCount, catalogChannels: [CHANNEL] })
  return finding?.isGood === false ? finding.message : null
}

const UNSORTED = { code: 'VITRINE_CATALOG_INVALID', reason: 'the page is not sorted' }
const EXPIRED = {
  code: 'VITRINE_CATALOG_UNREACHABLE',
  reason: 'the connection failed: the certificate has expired (CERT_HAS_EXPIRED)',
}

test.each([
  ['catalog that responds', UNSORTED, [CHANNEL], 'does not follow its interface'],
  ['catalog that does not respond', UNSORTED, undefined, 'is not a product catalog'],
  ['expired certificate', EXPIRED, undefined, 'Renew the certificate'],
] as const)(
  'failed walk, %s - the reason with a remedy that fits',
  async (_case, { code, reason }, channels, remedy) => {
    const catalogChannels: [typeof CHANNEL] | undefined = channels && [...channels]
    const failed = await checkCopy({ failure: code, failureReason: reason }, { catalogChannels })
    expect(failed).toMatchObject({ isGood: false, remedy: expect.stringContaining(remedy) as string })
    expect(failed?.message).toContain(`; the last walk failed: ${reason} (${code})`)
    const retried = await checkCopy({ isRunning: true, retry: { code, reason } }, { catalogChannels })
    expect(retried).toMatchObject({ isGood: false, remedy: expect.stringContaining(remedy) as string })
    expect(retried?.message).toContain(`; the running walk retries a call that failed: ${reason} (${code})`)
  },
)

test('failed walk of an earlier version - its code, and the remedy of the code', async () => {
  const failed = await checkCopy({ failure: 'VITRINE_CATALOG_STATUS' }, { catalogChannels: [CHANNEL] })
  expect(failed?.message).toContain('; the last walk failed with VITRINE_CATALOG_STATUS')
})

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
