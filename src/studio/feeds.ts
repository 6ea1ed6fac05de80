import type { Context } from '../context.ts'
import { type FeedState, describeReasons, isFeedFailing } from '../catalog/feed-report.ts'
import { formatPastTime, formatTime } from '../widgets/format.ts'
import { formatNumber } from '../lib/format.ts'

export type FeedsData = Awaited<ReturnType<typeof readFeedsData>>

/** Read the data of the feeds tab. `report` is `undefined` when the embedded catalog does not respond. */
export async function readFeedsData({ demo, clock, channels }: Context) {
  const [report, list] = await Promise.all([demo?.readFeeds(true), channels.listChannels()])
  return { report, nowMs: clock.nowMs(), channelNames: new Map(list.map(({ id, name }) => [id, name])) }
}

/** Build the view of the feeds tab. `notice` is shown in place of an empty table. */
export function toFeedsView({ report, nowMs, channelNames }: FeedsData) {
  const feeds = report?.feeds ?? []
  return {
    notice: findNotice(report),
    warnings: report?.warnings ?? [],
    feeds: feeds.map((feed) => ({
      name: feed.name,
      isHealthy: !isFeedFailing(feed) && !feed.isTooOld,
      status: describeStatus(feed),
      source: feed.address ?? 'imported by a command',
      channel: feed.channelId === null ? 'removed' : (channelNames.get(feed.channelId) ?? feed.channelId),
      lastSuccess: formatPastTimeOrNever(feed.fetchedAtMs, nowMs),
      nextRun: feed.nextRunAtMs === null ? 'no schedule' : formatNextRun(feed.nextRunAtMs, nowMs),
      products: formatNumber(feed.products),
      offers: formatNumber(feed.offers),
      rejected: formatNumber(feed.rejected),
      topReasons: describeReasons(feed.topReasons),
      rejectsPath: feed.rejectsPath,
    })),
  }
}

function findNotice(report: FeedsData['report']): string | null {
  if (report === undefined)
    return 'The catalog service does not respond. Run "vitrine check" to find the cause.'
  if (report.feeds.length > 0) return null
  return 'There are no feeds yet. Add one with "vitrine catalog feeds add NAME --url URL", or import a file with "vitrine catalog import FILE".'
}

/** Use the words of "vitrine catalog feeds list". */
function describeStatus({ status, error }: FeedState): string {
  return (status === 'held' || status === 'failed') && error !== null ? `${status}: ${error}` : status
}

function formatPastTimeOrNever(timeMs: number | null, nowMs: number): string {
  return timeMs === null ? 'never' : formatPastTime(timeMs, nowMs)
}

function formatNextRun(timeMs: number, nowMs: number): string {
  return timeMs <= nowMs ? 'now' : formatTime(timeMs, 'en')
}
