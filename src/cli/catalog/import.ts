import { parseFeedFormat } from '../../catalog-service/import/formats.ts'
import {
  type ImportProgress,
  type ImportSummary,
  importFeed,
} from '../../catalog-service/import/import-feed.ts'
import { fetchOwnedChannels } from '../../catalog-service/store/channels.ts'
import { fetchNetworkChannels, fetchNetworks } from '../../catalog-service/store/networks.ts'
import type { CatalogStore } from '../../catalog-service/store/catalog-store.ts'
import { MINUTE_MS, MINUTE_SECONDS, SECOND_MS } from '../../clock.ts'
import { describeStoreFailure } from '../../storage/reconnecting-store.ts'
import { StoreError } from '../../errors.ts'
import { warnOfNameless } from './assign.ts'
import { parseNewName } from './words.ts'
import type { CommandContext, ExitCode } from '../command.ts'
import { quote, toPlain, toPlainJson, toShellWord } from '../plain-text.ts'
import { findUnframedHint } from '../unframed.ts'
import { toStoreError, withCatalog } from '../with-catalog.ts'
import { pluralize } from '../../lib/plural.ts'

/** How often progress is told: redrawn on a terminal, as a new line elsewhere. */
const REDRAW_MS: number = SECOND_MS / 10
const PLAIN_LINE_MS: number = 3 * SECOND_MS

/** Moves to the start of the line and empties it. */
const CLEAR_LINE = '\r\u001b[2K'

/** Options of `catalog import`, as typed. */
export type CatalogImportOptions = Readonly<{
  file: string
  /** Id of the channel that the feed is for. */
  channel?: string | undefined
  /** The network of every offer, whatever the file says. */
  network?: string | undefined
  /** The merchant of every offer, whatever the file says. */
  merchant?: string | undefined
  /** Default: told by the first bytes of the file. */
  format?: string | undefined
}>

/**
 * `vitrine catalog import FILE`.
 * @throws UsageError for an unknown format or channel and for a bad name; ImportError when the file cannot be imported;
 * StoreError when the catalog cannot be written, for example while another import runs.
 */
export async function runCatalogImport(
  context: CommandContext,
  options: CatalogImportOptions,
): Promise<ExitCode> {
  const format = options.format === undefined ? undefined : parseFeedFormat(options.format)
  const network = parseNewName(options.network, '--network')
  const merchant = parseNewName(options.merchant, '--merchant')
  await withCatalog(context, async (store) => {
    const progress = createProgressLine(context)
    try {
      const summary = await importFeed({
        store,
        file: options.file,
        format,
        channelId: options.channel,
        network,
        merchant,
        signal: context.io.signal,
        onProgress: progress.show,
      }).catch(explainFailure)
      progress.end()
      printSummary(context, summary)
      await printHints(context, store, summary)
    } finally {
      progress.end()
    }
  })
  return 0
}

/** An import wraps whatever failed: what the database, or a disk, said of it is the reason. */
function explainFailure(error: unknown): never {
  const isWrapped = error instanceof StoreError && error.cause !== undefined
  const reason = toStoreError(isWrapped ? error.cause : error)
  if (!isWrapped || reason instanceof StoreError) throw reason
  throw new StoreError(
    `the feed could not be imported: ${describeStoreFailure(error)}. Nothing was changed`,
    { cause: error },
  )
}

async function printHints(
  { config, io }: CommandContext,
  store: CatalogStore,
  summary: ImportSummary,
): Promise<void> {
  const channels = await fetchOwnedChannels(store.reader)
  const channel = channels.find(({ id }) => id === summary.channelId)
  for (const hint of await findNameless(store.reader, summary)) io.err(`${toPlain(hint)}\n`)
  const hint = channel === undefined ? null : findUnframedHint(config, channel)
  if (hint !== null) io.err(`${hint}\n`)
}

function printSummary({ io, json }: CommandContext, summary: ImportSummary): void {
  const { format, products, offers, removedOffers, rejected, channelId, rejectsPath, replacedSample } =
    summary
  if (json) {
    const result = {
      format,
      products,
      offers,
      removedOffers,
      rejected,
      channel: channelId,
      rejects: rejectsPath,
      replacedSample,
      untrackedNetworks: summary.pageNetworks.untracked,
      unassignedNetworks: summary.unassignedNetworks,
    }
    return io.out(toPlainJson(result))
  }
  for (const line of explain(summary)) io.err(`${toPlain(line)}\n`)
  if (rejectsPath !== null) io.out(toPlain(`rejected rows: ${rejectsPath}`))
  const counts = [
    pluralize(products, 'product'),
    pluralize(offers, 'offer'),
    `${formatCount(rejected)} rejected`,
  ]
  io.out(`${counts.join(', ')}; channel ${channelId}`)
}

/** Links by a template that name no publisher earn nothing: an import knows no reference, and only the owner does. */
async function findNameless(
  reader: CatalogStore['reader'],
  { channelId, pageNetworks }: ImportSummary,
): Promise<readonly string[]> {
  const networks = await fetchNetworks(reader)
  const networkChannels = await fetchNetworkChannels(reader)
  return networks
    .filter(({ name }) => pageNetworks.byTemplate.includes(name))
    .flatMap((network) =>
      warnOfNameless(
        network,
        networkChannels.filter((own) => own.networkId === network.id && own.channelId === channelId),
      ),
    )
}

/** What the owner may want to know, or to change. */
function explain(summary: ImportSummary): readonly string[] {
  const { format, hasLinkMerchants, replacedSample, removedOffers, pageNetworks } = summary
  return [
    `Read as ${format}.`,
    ...(hasLinkMerchants
      ? ['The feed names no shop: shops are named after the hosts of their links; --merchant NAME names one.']
      : []),
    ...(replacedSample ? ['The sample data was replaced.'] : []),
    ...(removedOffers > 0
      ? [
          `${pluralize(removedOffers, 'older offer')} of the same shops removed: the file has them no more, or with other links, or they were rejected.`,
        ]
      : []),
    ...pageNetworks.untracked.flatMap(explainUntracked),
    ...summary.unassignedNetworks.map(
      (network) =>
        `The channel has no network channel of ${quote(network)} now: its offers are stored, and shown when it is assigned again: vitrine catalog networks assign ${toShellWord(network)} --channel ${summary.channelId}`,
    ),
  ]
}

function explainUntracked(network: string): readonly string[] {
  return [
    `Links of ${quote(network)} lead to the shops' own pages, without tracking: it has no link template. Give it one, and import again:`,
    `  vitrine catalog networks set ${toShellWord(network)} --template "https://…{publisher}…{url}"`,
  ]
}

function formatCount(number: number): string {
  return number.toLocaleString('en-US')
}

type ProgressLine = Readonly<{ show(progress: ImportProgress): void; end(): void }>

/** On a terminal one line drawn over itself; elsewhere a plain line now and then. */
function createProgressLine({ clock, io }: CommandContext): ProgressLine {
  const everyMs = io.isTerminal ? REDRAW_MS : PLAIN_LINE_MS
  const startedAtMs = clock.nowMs()
  let shownAtMs = startedAtMs
  let isDrawn = false
  return {
    show(progress) {
      const nowMs = clock.nowMs()
      if (nowMs - shownAtMs < everyMs) return
      shownAtMs = nowMs
      const line = describeProgress(progress, nowMs - startedAtMs)
      io.err(io.isTerminal ? `${CLEAR_LINE}${line}` : `${line}\n`)
      isDrawn = io.isTerminal
    },
    end() {
      if (isDrawn) io.err(CLEAR_LINE)
      isDrawn = false
    },
  }
}

/** The time left is that of the bytes left, at the speed so far: how many rows they hold is not known. */
function describeProgress(progress: ImportProgress, tookMs: number): string {
  const { readBytes, totalBytes, rows, products, rejected } = progress
  const share = Math.min(1, readBytes / totalBytes)
  const counts = `${Math.floor(100 * share)} % read, ${pluralize(products, 'product')}, ${formatCount(rejected)} rejected`
  const speed = formatCount(Math.round((rows * SECOND_MS) / Math.max(1, tookMs)))
  const left = share > 0 ? `, ${formatDuration(tookMs * (1 / share - 1))} left` : ''
  return `${counts}; ${speed} rows/s${left}`
}

function formatDuration(durationMs: number): string {
  const seconds = Math.ceil(durationMs / SECOND_MS)
  if (durationMs < MINUTE_MS) return `${seconds} s`
  return `${Math.floor(seconds / MINUTE_SECONDS)} min ${seconds % MINUTE_SECONDS} s`
}
