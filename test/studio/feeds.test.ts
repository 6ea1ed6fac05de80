import { describe, expect, test } from 'vitest'
import type { FeedReport, FeedState } from '../../src/catalog/feed-report.ts'
import { toFeedsView } from '../../src/studio/feeds.ts'
import { FEED, makeFeedsData, makeStudio } from '../helpers/studio-view.ts'

const view = (report: Partial<FeedReport>): ReturnType<typeof toFeedsView> =>
  toFeedsView(makeFeedsData(report))
const row = (over: Partial<FeedState>): ReturnType<typeof toFeedsView>['feeds'][number] | undefined =>
  view({ feeds: [{ ...FEED, ...over }] }).feeds[0]

describe('feeds tab', () => {
  test('feed that works - name, channel, times and counts; the address without its path', () => {
    expect(row({})).toEqual({
      name: 'kopje',
      isHealthy: true,
      status: 'ok',
      source: 'https://feeds.example/…',
      channel: 'Magazine',
      lastSuccess: expect.stringContaining('11:00'),
      nextRun: expect.stringContaining('5:00'),
      products: '1,236',
      offers: '4,649',
      rejected: '12',
      topReasons: ['condition: the condition "gebraucht", "B-Ware", "demo" … is not known to mean new (9)'],
      rejectsPath: '/var/lib/vitrine/data/catalog-feeds/kopje.rejects',
    })
  })

  test.each<[string, Partial<FeedState>, string]>([
    ['failed', { status: 'failed', error: 'connection refused' }, 'failed: connection refused'],
    ['held', { status: 'held', error: '296 of 400 would be removed' }, 'held: 296 of 400 would be removed'],
    ['quiet', { isQuiet: true }, 'ok'],
    ['too old', { isTooOld: true }, 'ok'],
  ])('feed that is %s - needs attention, and says why', (_what, over, status) => {
    expect(row(over)).toMatchObject({ isHealthy: false, status })
  })

  test('feed without schedule or run - says so', () => {
    expect(row({ address: null, nextRunAtMs: null, fetchedAtMs: null, status: 'new' })).toMatchObject({
      source: 'imported by a command',
      nextRun: 'no schedule',
      lastSuccess: 'never',
      status: 'new',
      isHealthy: true,
    })
    expect(row({ channelId: null })).toMatchObject({ channel: 'removed' })
  })

  test('no feeds, and no response of the catalog - a notice', () => {
    expect(view({ feeds: [] }).notice).toContain('vitrine catalog feeds add')
    expect(toFeedsView({ ...makeFeedsData(), report: undefined }).notice).toContain('vitrine check')
    expect(view({}).notice).toBeNull()
  })

  test('remote catalog - the tab is absent, and its address explains why', () => {
    const { tabs, notice } = makeStudio('tab=feeds', { hasFeeds: false, feeds: null })
    expect(tabs.map(({ text }) => text)).not.toContain('Feeds')
    expect(notice).toContain('vitrine catalog feeds list')
  })
})
