import type { CatalogClient } from '../catalog/client.ts'
import type { CatalogPlace, Context } from '../context.ts'
import {
  BadOptionError,
  CallNotMadeError,
  CatalogError,
  CatalogKeyRefusedError,
  CatalogRateLimitedError,
  CatalogUnreachableError,
  UsageError,
  VitrineError,
} from '../errors.ts'
import { findGtin } from '../offers/gtin.ts'
import { listOptions } from '../studio/choice.ts'
import { type ExplanationView, explainBox } from '../studio/explain.ts'
import { type CatalogAnswer, type Known, readKnown } from '../studio/known.ts'
import { formatTime } from '../widgets/format.ts'
import { type BoxOptions, type OptionDefaults, parseBoxOptions } from '../widgets/options.ts'
import { parseQueryString } from '../widgets/parameters.ts'
import { findRemedy, findRemedyByCode } from './checks/findings.ts'
import { createCommandClient, openForCommand } from './open-catalog.ts'
import type { CommandContext, CommandIo, ExitCode } from './command.ts'
import { quote, toPlain, toPlainJson } from './output.ts'

/** Options of the box are words such as `stock=in`, or the query of its address; `call`: may the catalog be asked? */
export type ExplainArguments = [
  channel: string,
  gtin: string,
  options: readonly string[],
  flags: Readonly<{ call: boolean }>,
]

/**
 * `vitrine explain`: why a box shows what it shows, or nothing. Exit code 0 when a box is shown, 1 when not.
 * @throws UsageError when the GTIN is none or an option has a wrong value.
 */
export async function runExplain(
  command: CommandContext,
  ...[channel, typedGtin, words, { call: mayCall }]: ExplainArguments
): Promise<ExitCode> {
  const gtin = findGtin(typedGtin.trim())
  if (gtin === undefined) throw new UsageError('a GTIN is 1 to 14 digits, without spaces or hyphens')
  const query = parseWords(words)
  const wanted = { channelId: channel.trim().toLowerCase(), gtin }
  const context = await openForCommand(command)
  try {
    const { defaults } = context.widgets
    const options = parseOptions(query, defaults)
    const known = await gather(command, context, { ...wanted, mayCall })
    const names = new Set(listOptions('where-to-buy').map(({ name }) => name))
    const ignored = [...new Set(query.keys())].filter((name) => !names.has(name))
    const { config, clock } = command
    const view = explainBox(known, { options, defaults, ignored, config, nowMs: clock.nowMs() })
    command.io.err(
      `A running server may answer from its memory for up to ${config.freshness.freshSeconds} more seconds.\n`,
    )
    if (command.json) command.io.out(toPlainJson({ ...wanted, ...view }))
    else print(command.io, view)
    return view.isShown ? 0 : 1
  } finally {
    await context.dispose()
  }
}

/** A word with `?` or `&` is a query as in an address; any other is one option as it is typed. */
function parseWords(words: readonly string[]): URLSearchParams {
  const query = new URLSearchParams()
  for (const word of words) {
    const isQuery = word.startsWith('?') || /&[a-z_]+=/.test(word)
    const equals = word.indexOf('=')
    if (equals < 1 && word !== '?')
      throw new UsageError(`${quote(word)} is no option: write NAME=VALUE, as in stock=in`)
    const pairs = isQuery
      ? parseQueryString(word.replace(/^\?/, ''))
      : [[word.slice(0, equals), word.slice(equals + 1)] as const]
    for (const [name, value] of pairs) query.append(name, value)
  }
  return query
}

function parseOptions(query: URLSearchParams, defaults: OptionDefaults): BoxOptions {
  try {
    return parseBoxOptions(query, defaults, 'fragment')
  } catch (error) {
    if (error instanceof BadOptionError) throw new UsageError(error.publicMessage.replace(/\.$/, ''))
    throw error
  }
}

type CommandParts = Context & Readonly<{ catalog: CatalogPlace }>
type Wanted = Readonly<{ channelId: string; gtin: string; mayCall: boolean }>

/** As a visit does: the list of channels where none or another one is known, then the product, with one call. */
async function gather(command: CommandContext, context: CommandParts, wanted: Wanted): Promise<Known> {
  if (!wanted.mayCall) return readKnown(context, wanted, { kind: 'not-asked', why: '--no-call' })
  const isListed = await context.channels.getChannel(wanted.channelId).then(
    () => true,
    (error: unknown) => {
      if (error instanceof VitrineError) return false
      throw error
    },
  )
  const before = await readKnown(context, wanted, { kind: 'not-asked', why: 'the channel is not listed' })
  if (!isListed && before.list !== undefined) return before
  const client = await createCommandClient(command, context.catalog, { gate: context.gate })
  try {
    const catalog = isListed ? await askForProduct(client, before) : await askForChannels(client)
    return { ...before, catalog }
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error
    return { ...before, catalog: await describeFailure(command, context, error) }
  } finally {
    await client.close()
  }
}

/** There is no list of channels: the visit before has not waited long for it. */
async function askForChannels(client: CatalogClient): Promise<CatalogAnswer> {
  await client.fetchChannels()
  return { kind: 'not-asked', why: 'its channels came only now: try again' }
}

async function askForProduct(
  client: CatalogClient,
  { channelId, gtin, entry }: Known,
): Promise<CatalogAnswer> {
  const purpose = (entry?.product ?? null) === null ? 'lookup' : 'refresh'
  const { value } = await client.findProduct({ channelId, gtin, purpose })
  return value === undefined ? { kind: 'absent' } : { kind: 'product', product: value }
}

async function describeFailure(
  { config, clock }: CommandContext,
  { gate }: CommandParts,
  error: CatalogError,
): Promise<CatalogAnswer> {
  if (!(error instanceof CallNotMadeError)) {
    const remedy = findRemedy(error, config) ?? null
    return { kind: 'failed', text: `gave no usable answer: ${error.message} (${error.code})`, remedy }
  }
  const { quota, keyRefusedUntilMs, breaker } = await gate.readState()
  const nowMs = clock.nowMs()
  const pause = (why: string, { code }: Readonly<{ code: string }>): CatalogAnswer => ({
    kind: 'failed',
    text: `not asked: ${why}`,
    remedy: findRemedyByCode(code, config) ?? null,
  })
  if (keyRefusedUntilMs > nowMs) return pause('it refused the key a moment ago', CatalogKeyRefusedError)
  if (quota.limitedUntilMs > nowMs) {
    const until = formatTime(quota.limitedUntilMs, 'en')
    return pause(`the request limit is reached until ${until}`, CatalogRateLimitedError)
  }
  if (breaker !== 'closed') return pause('it did not answer a moment ago', CatalogUnreachableError)
  return pause("the hour's first look-ups, or the day's, are used up", CallNotMadeError)
}

function print(io: CommandIo, { verdict, remedy, facts, offers }: ExplanationView): void {
  io.out(toPlain(verdict))
  if (remedy !== null) io.out(`       ${toPlain(remedy)}`)
  for (const { label, value } of facts) io.out(toPlain(`${label}: ${value}`))
  for (const { text, outcome } of offers) io.out(toPlain(`Offer: ${text}: ${outcome}`))
}
