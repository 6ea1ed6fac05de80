import { parseFeedFormat } from '../catalog-service/import/formats.ts'
import { type ImportProgress, type ImportSummary, importFeed } from '../catalog-service/import/import-feed.ts'
import { fetchOwnedChannels } from '../catalog-service/store/channels.ts'
import { fetchNetworkChannels } from '../catalog-service/store/network-channels.ts'
import { fetchNetworks } from '../catalog-service/store/networks.ts'
import { type CatalogStore, openCatalogStore } from '../catalog-service/store/open-store.ts'
import { MINUTE_MS, MINUTE_SECONDS, SECOND_MS } from '../clock.ts'
import { warnOfNameless } from './catalog-assign.ts'
import type { CommandContext, ExitCode } from './command.ts'
import { UNFRAMED_HINT, isUnframed } from './unframed.ts'

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
 * @throws UsageError for an unknown format or channel; ImportError when the file cannot be imported.
 */
export async function runCatalogImport(
  context: CommandContext,
  options: CatalogImportOptions,
): Promise<ExitCode> {
  const format = options.format === undefined ? undefined : parseFeedFormat(options.format)
  const { clock, config, io } = context
  const progress = createProgressLine(context)
  const store = await openCatalogStore({ path: config.catalogDatabase.path, clock })
  try {
    const summary = await importFeed({
      store,
      file: options.file,
      format,
      channelId: options.channel,
      network: options.network,
      merchant: options.merchant,
      signal: io.signal,
      onProgress: progress.show,
    })
    progress.end()
    printSummary(context, summary)
    const channels = await fetchOwnedChannels(store.reader)
    const channel = channels.find(({ id }) => id === summary.channelId)
    for (const hint of await findNameless(store.reader, summary)) io.err(`${hint}\n`)
    if (channel !== undefined && isUnframed(config, channel)) io.err(`${UNFRAMED_HINT}\n`)
    return 0
  } finally {
    progress.end()
    await store.close()
  }
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
    }
    return io.out(JSON.stringify(result))
  }
  explain(io, summary)
  if (rejectsPath !== null) io.out(`rejected rows: ${rejectsPath}`)
  const counts = [count(products, 'product'), count(offers, 'offer'), `${formatCount(rejected)} rejected`]
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
function explain(io: CommandContext['io'], summary: ImportSummary): void {
  const { format, removedOffers, pageNetworks } = summary
  io.err(`Read as ${format}.\n`)
  if (summary.hasLinkMerchants)
    io.err(
      'The feed names no shop: shops are named after the hosts of their links; --merchant NAME names one.\n',
    )
  if (summary.replacedSample) io.err('The sample data was replaced.\n')
  if (removedOffers > 0)
    io.err(
      `${count(removedOffers, 'older offer')} of the same shops removed: the file has them no more, or with other links.\n`,
    )
  for (const network of pageNetworks.untracked)
    io.err(
      `Links of "${network}" lead to the shops' own pages, without tracking: it has no link template. Give it one, and import again:\n  vitrine catalog networks set "${network}" --template "https://…{publisher}…{url}"\n`,
    )
}

function count(number: number, noun: string): string {
  return `${formatCount(number)} ${noun}${number === 1 ? '' : 's'}`
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
  const counts = `${Math.floor(100 * share)} % read, ${count(products, 'product')}, ${formatCount(rejected)} rejected`
  const speed = formatCount(Math.round((rows * SECOND_MS) / Math.max(1, tookMs)))
  const left = share > 0 ? `, ${formatDuration(tookMs * (1 / share - 1))} left` : ''
  return `${counts}; ${speed} rows/s${left}`
}

function formatDuration(durationMs: number): string {
  const seconds = Math.ceil(durationMs / SECOND_MS)
  if (durationMs < MINUTE_MS) return `${seconds} s`
  return `${Math.floor(seconds / MINUTE_SECONDS)} min ${seconds % MINUTE_SECONDS} s`
}
