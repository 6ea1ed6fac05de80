import type { Command } from 'commander'
import { parseFeedFormat } from '../../catalog-service/import/formats.ts'
import type { ImportSummary } from '../../catalog-service/import/import-feed.ts'
import { HOUR_SECONDS } from '../../clock.ts'
import { FeedHeldError } from '../../errors.ts'
import { pluralize } from '../../lib/plural.ts'
import { type CommandContext, type Runner, addExamples } from '../command.ts'
import { type ReadOptions, addReadOptions, parseMaxRemoved } from './feed-options.ts'
import { createProgressPrinter, findHints, printSummary, rethrowImportFailure } from './import-output.ts'
import { withLocalFile } from './local-file.ts'
import { withCatalog } from './store.ts'

export function addImport(catalog: Command, run: Runner): void {
  const command = catalog
    .command('import <file>')
    .description('import a feed once: a file, an address, or - for standard input')
    .option('--channel <id>', 'id of the channel that the feed is for; required when there are several')
    .option('--feed <name>', 'name of the feed whose offers the file replaces; default: the name of the file')
  addReadOptions(command)
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
  Readonly<{ channel?: string; feed?: string; maxRemoved?: number; accept?: boolean }>

/**
 * @throws ImportError for an unusable file; FeedFetchError for an address; FeedHeldError when too many offers would be removed;
 * StoreError for an unusable or locked catalog; UsageError for an unknown channel.
 */
async function runCatalogImport(
  context: CommandContext,
  source: string,
  { channel: channelId, feed: feedName, format, map, network, merchant, ...options }: ImportOptions,
): Promise<void> {
  const { io } = context
  const { importFile } = await import('../../catalog-service/import/import-file.ts')
  await withLocalFile(context, source, feedName, (file) =>
    withCatalog(context, async (store) => {
      const summary = await importFile({
        ...file,
        store,
        channelId,
        map,
        network,
        merchant,
        format: format === undefined ? undefined : parseFeedFormat(format),
        maxRemovedPercent: options.accept === true ? 100 : options.maxRemoved,
        signal: io.signal,
        onProgress: createProgressPrinter(context),
      })
        .catch((error: unknown) => rethrowImportFailure(addAcceptHint(error)))
        .finally(() => io.drawProgress(''))
      printSummary(context, summary)
      for (const hint of await findHints(context, store, summary)) io.err(hint)
      io.err(describePriceAge(context, summary))
    }),
  )
}

/** Say that an import does not stay fresh by itself. */
function describePriceAge({ config }: CommandContext, { feed }: ImportSummary): string {
  const hours = Math.round(config.priceMaxAgeSeconds / HOUR_SECONDS)
  return `Its prices are shown for ${pluralize(hours, 'hour')} (VITRINE_PRICE_MAX_AGE_SECONDS), so import it again in time, or let the server fetch it: vitrine catalog feeds set ${feed} --url URL`
}

function addAcceptHint(error: unknown): unknown {
  if (!(error instanceof FeedHeldError)) return error
  return new FeedHeldError(`${error.message}. If the file is right, repeat the command with --accept`)
}
