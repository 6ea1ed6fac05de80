import type { Command } from 'commander'
import { type FeedTrial, tryFeed } from '../../catalog-service/feeds/try-feed.ts'
import { pluralize } from '../../lib/plural.ts'
import { formatCount } from '../../widgets/format.ts'
import { type CommandContext, type ExitCode, type Runner, print } from '../command.ts'
import { type ReadOptions, addReadOptions } from './feed-options.ts'
import { withLocalFile } from './local-file.ts'

export function addTry(group: Command, run: Runner): void {
  addReadOptions(
    group
      .command('try <file>')
      .description('show how a file, an address or - (standard input) would be read; changes nothing'),
  ).action(run(runTry))
}

/** Return exit code 1 without a usable row. @throws ImportError for an unusable file; FeedFetchError for an address */
async function runTry(context: CommandContext, source: string, options: ReadOptions): Promise<ExitCode> {
  return withLocalFile(context, source, undefined, async ({ file, label = file, charset }) => {
    const trial = await tryFeed({ ...options, path: file, label, charset, signal: context.io.signal })
    print(context, trial, describeTrial(trial))
    return trial.usable === 0 ? 1 : 0
  })
}

function describeTrial(trial: FeedTrial): readonly string[] {
  const { format, encoding, rows, usable, withoutGtin, rejected, shops, currencies, examples, reasons } =
    trial
  const percent = rows === 0 ? 0 : Math.round((100 * withoutGtin) / rows)
  return [
    `${format}, ${encoding}: ${pluralize(rows, 'row')}, ${formatCount(usable, 'en')} usable, ${pluralize(rejected, 'reject')}; ${percent} % of the rows have no valid GTIN`,
    `shops: ${describeCounts(shops)}`,
    `currencies: ${describeCounts(currencies)}`,
    ...examples.flatMap(({ row, gtin, title, brand, offers }) => [
      `row ${row}: ${gtin}  ${title}${brand === null ? '' : ` (${brand})`}`,
      ...offers.map(
        ({ merchant, network, price, oldPrice, currency, availability, link, url }) =>
          `    ${merchant} (${network})  ${price}${oldPrice === null ? '' : ` instead of ${oldPrice}`} ${currency}  ${availability}  ${link === 'tracked' ? 'tracking link' : 'page'} ${url}`,
      ),
    ]),
    ...(reasons.length === 0 ? [] : ['rejected:']),
    ...reasons.map(
      ({ reason, count, row, raw }) =>
        `    ${formatCount(count, 'en')} x ${reason}; first in row ${row}: ${raw}`,
    ),
  ]
}

function describeCounts(counts: FeedTrial['shops']): string {
  if (counts.length === 0) return 'none'
  return counts.map(({ name, count }) => `${name} (${formatCount(count, 'en')})`).join(', ')
}
