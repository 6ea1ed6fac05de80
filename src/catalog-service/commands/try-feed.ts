import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { type FeedTrial, tryFeed } from '../feeds/try-feed.ts'
import { FEED_NAME, hasFeedEnding } from '../import/feed-target.ts'
import { toReadSettings } from '../import/read-feed.ts'
import { type Feed, findFeed } from '../store/feeds.ts'
import { UsageError } from '../../errors.ts'
import { formatNumber, pluralize } from '../../lib/format.ts'
import { type CommandContext, type ExitCode, type Runner, print } from '../../command.ts'
import { type HeaderOptions, type ReadOptions, addHeaderOption, addReadOptions } from './feed-options.ts'
import { describeGuessedEncoding } from './import-output.ts'
import { withLocalFile } from './local-file.ts'
import { quote } from './output.ts'
import { hasCatalog, withCatalog } from './store.ts'

export function addTry(group: Command, run: Runner): void {
  const command = group
    .command('try <file>')
    .description(
      'show how a file, an address, a feed by its name, or - (standard input) would be read; changes nothing',
    )
  addHeaderOption(addReadOptions(command)).action(run(runTry))
}

/** Return exit code 1 without a usable row. @throws ImportError for an unusable file; FeedFetchError for an address */
async function runTry(
  context: CommandContext,
  fileOrName: string,
  { headerFile, ...options }: ReadOptions & HeaderOptions,
): Promise<ExitCode> {
  const feed = await findNamedFeed(context, fileOrName)
  const source = { source: feed?.url ?? fileOrName, headerFile: headerFile ?? feed?.headerFile ?? undefined }
  return withLocalFile(context, source, async ({ file, label = file, charset }) => {
    const settings = { ...(feed && toReadSettings(feed)), ...options }
    const trial = await tryFeed({ ...settings, path: file, label, charset, signal: context.io.signal })
    print(context, trial, describeTrial(trial))
    return trial.usable === 0 ? 1 : 0
  })
}

/** Find the feed of a name that is no file; `undefined` for other sources. @throws UsageError */
async function findNamedFeed(context: CommandContext, name: string): Promise<Feed | undefined> {
  if (!FEED_NAME.test(name) || existsSync(name) || !hasCatalog(context)) return undefined
  const feed = await withCatalog(context, ({ read }) => read((reader) => findFeed(reader, name)))
  if (feed === undefined && hasFeedEnding(name)) return undefined
  if (feed === undefined)
    throw new UsageError(
      `there is no file and no feed ${quote(name)}; "vitrine catalog feeds list" lists the feeds`,
    )
  if (feed.url !== null) return feed
  throw new UsageError(`the feed ${quote(name)} has no address: use "vitrine catalog feeds try FILE"`)
}

function describeTrial(trial: FeedTrial): readonly string[] {
  const { encoding, rows, usable, withoutGtin, rejected, shops, currencies, examples, reasons } = trial
  const format = trial.layout === undefined ? trial.format : `${trial.format} (layout: ${trial.layout})`
  const percent = Math.round((100 * withoutGtin) / rows)
  const missing = withoutGtin === 0 ? '' : `; ${percent} % of the rows have no valid GTIN`
  return [
    `${format}, ${encoding}: ${pluralize(rows, 'row')}, ${formatNumber(usable)} usable, ${pluralize(rejected, 'reject')}${missing}`,
    ...(trial.isEncodingGuessed ? [describeGuessedEncoding(encoding)] : []),
    `shops: ${describeCounts(shops)}`,
    `currencies: ${describeCounts(currencies)}`,
    ...describeMissingLinks(trial),
    ...examples.flatMap(({ row, gtin, title, brand, offers }) => [
      `row ${row}: ${gtin}  ${title}${brand === null ? '' : ` (${brand})`}`,
      ...offers.map(
        ({ merchant, network, price, oldPrice, currency, availability, link, url }) =>
          `    ${merchant} (${network})  ${price}${oldPrice === null ? '' : ` instead of ${oldPrice}`} ${currency}  ${availability}  ${link === 'tracked' ? 'tracking link' : 'page'} ${url}`,
      ),
    ]),
    ...(reasons.length === 0 ? [] : ['rejected:']),
    ...reasons.map(
      ({ reason, count, row, raw }) => `    ${formatNumber(count)} x ${reason}; first in row ${row}: ${raw}`,
    ),
  ]
}

function describeMissingLinks({ usable, hasTrackingLinks, trackingColumns }: FeedTrial): readonly string[] {
  if (usable === 0 || hasTrackingLinks) return []
  const columns = trackingColumns.length === 0 ? '' : ` (in ${trackingColumns.join(' or ')})`
  return [
    `There are no tracking links${columns}: links lead to the shops' own pages, and earn nothing without a link template of the network.`,
  ]
}

function describeCounts(counts: FeedTrial['shops']): string {
  if (counts.length === 0) return 'none'
  return counts.map(({ name, count }) => `${name} (${formatNumber(count)})`).join(', ')
}
