import type { Command } from 'commander'
import { parseFeedFormat } from '../import/formats.ts'
import type { ImportSummary } from '../import/import-feed.ts'
import { toFeedName } from '../import/feed-target.ts'
import type { CatalogStore } from '../store/catalog-store.ts'
import { findFeed } from '../store/feeds.ts'
import { HOUR_SECONDS } from '../../clock.ts'
import { FeedHeldError } from '../../errors.ts'
import { pluralize } from '../../lib/format.ts'
import { type CommandContext, type Runner, addExamples } from '../../command.ts'
import {
  type HeaderOptions,
  type ReadOptions,
  addHeaderOption,
  addReadOptions,
  parseMaxRemoved,
} from './feed-options.ts'
import { createProgressPrinter, findHints, printSummary } from './import-output.ts'
import { type LocalFile, withLocalFile } from './local-file.ts'
import { withCatalog } from './store.ts'

export function addImport(catalog: Command, run: Runner): void {
  const command = catalog
    .command('import <file>')
    .description('import a feed once: a file, an address, or - for standard input')
    .option('--channel <id>', 'id of the channel that the feed is for; required when there are several')
    .option('--feed <name>', 'name of the feed whose offers the file replaces; default: the name of the file')
  addHeaderOption(addReadOptions(command))
    .option(
      '--max-removed <percent>',
      "refuse a file that would remove a larger share of the feed's offers; default: as set for the feed, else 50%",
      parseMaxRemoved,
    )
    .option('--accept', 'accept any number of removed offers')
    .action(run(runCatalogImport))
  addExamples(command, 'vitrine catalog import', [
    'vitrine catalog import products.ndjson.gz',
    'vitrine catalog import shop.csv --network awin --merchant Kopje --channel 952a0000-0000-4000-8000-0000000000a1',
    'vitrine catalog import tuesday.csv --feed kopje',
    'vitrine catalog import https://shop.example/feed.xml',
    'gunzip --stdout shop.csv.gz | vitrine catalog import - --feed kopje',
    'vitrine catalog import shop.csv --format google-csv --json',
  ])
}

type ImportOptions = ReadOptions &
  HeaderOptions &
  Readonly<{ channel?: string; feed?: string; maxRemoved?: number; accept?: boolean }>

/**
 * @throws ImportError for an unusable file; FeedFetchError for an address; FeedHeldError when too many offers would be removed;
 * StoreError for an unusable or locked catalog; UsageError for an unknown channel.
 */
async function runCatalogImport(
  context: CommandContext,
  source: string,
  { channel: channelId, feed: feedName, format, maxRemoved, accept, headerFile, ...options }: ImportOptions,
): Promise<void> {
  const { io } = context
  const { importFile } = await import('../import/import-file.ts')
  await withLocalFile(context, { source, feedName, headerFile }, (file) =>
    withCatalog(context, async (store) => {
      const summary = await importFile({
        ...file,
        store,
        channelId,
        ...options,
        format: format === undefined ? undefined : parseFeedFormat(format),
        maxRemovedPercent: accept === true ? 100 : maxRemoved,
        signal: io.signal,
        onProgress: createProgressPrinter(context),
      })
        .catch((error: unknown) => {
          throw addAcceptHint(error)
        })
        .finally(() => io.drawProgress(''))
      printSummary(context, summary)
      const hints = [
        ...(await findHints(context, store, summary)),
        ...(await findFeedHints(context, store, { summary, file, feedName })),
      ]
      for (const hint of hints) io.err(hint)
    }),
  )
}

/** A file of one day: the next one would be another feed. */
const DATED_NAME = /\d{4}[-_.]?\d{2}[-_.]?\d{2}/

type ImportedFile = Readonly<{ summary: ImportSummary; file: LocalFile; feedName: string | undefined }>

/** Say which feed a file became when that may surprise, and that an import does not stay fresh by itself. */
async function findFeedHints(
  { config }: CommandContext,
  { read }: CatalogStore,
  { summary: { feed: name }, file, feedName }: ImportedFile,
): Promise<readonly string[]> {
  const hints: string[] = []
  const defaultName = file.defaultFeedName ?? toFeedName(file.file)
  if (feedName === undefined && name !== defaultName)
    hints.push(
      `The feed ${defaultName} has an address or belongs to another channel, so the file is the feed ${name}. To replace the offers of ${defaultName} of this channel: --feed ${defaultName}`,
    )
  if (feedName === undefined && DATED_NAME.test(name))
    hints.push(
      `The name ${name} has a date, so the next file will be another feed beside this one. Choose a name with --feed NAME, and remove this one: vitrine catalog feeds remove ${name} --yes`,
    )
  const feed = await read((reader) => findFeed(reader, name))
  const hours = Math.round(config.priceMaxAgeSeconds / HOUR_SECONDS)
  if (feed?.url === null)
    hints.push(
      `Its prices are shown for ${pluralize(hours, 'hour')} (VITRINE_PRICE_MAX_AGE_SECONDS), so import it again in time, or let the server fetch it: vitrine catalog feeds set ${name} --url URL`,
    )
  return hints
}

function addAcceptHint(error: unknown): unknown {
  if (!(error instanceof FeedHeldError)) return error
  return new FeedHeldError(`${error.message}. If the file is right, repeat the command with --accept`)
}
