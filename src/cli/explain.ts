import {
  BadOptionError,
  CatalogCallBlockedError,
  CatalogError,
  CatalogKeyRefusedError,
  CatalogRateLimitedError,
  CatalogUnreachableError,
  UsageError,
  VitrineError,
} from '../errors.ts'
import { normalizeGtin } from '../offers/gtin.ts'
import { MAX_VARIANTS } from '../widgets/address.ts'
import { type ExplanationView, explainBoxProducts } from '../explain/widgets.ts'
import { readObservedPrices } from '../explain/observed-prices.ts'
import { type CatalogLookupResult, type BoxInputs, readBoxInputs } from '../explain/inputs.ts'
import { formatTime } from '../widgets/format.ts'
import { listOptions } from '../widgets/option-list.ts'
import { type BoxOptions, type OptionDefaults, parseBoxOptions } from '../widgets/options.ts'
import { parseQueryString } from '../widgets/parameters.ts'
import { findErrorRemedy, findCodeRemedy } from './checks/report.ts'
import { type CommandContext, type ExitCode, print } from '../command.ts'
import { type ContextWithCatalog, createCommandClient, openContext } from './open-catalog.ts'

/** `options`: arguments such as `stock=in`, or the query of the box's address. `call`: whether to call the catalog. */
export type ExplainArguments = [
  channel: string,
  gtin: string,
  options: readonly string[],
  flags: Readonly<{ call: boolean }>,
]

/** Return exit code 0 when a box is shown, otherwise 1. @throws UsageError for an invalid GTIN or option. */
export async function runExplain(
  command: CommandContext,
  ...[channel, gtinText, args, { call: mayCall }]: ExplainArguments
): Promise<ExitCode> {
  const gtins = parseVariants(gtinText)
  const query = parseOptionArguments(args)
  const channelId = channel.trim().toLowerCase()
  const context = await openContext(command, { walkRunner: null })
  try {
    const { defaults } = context.widgets
    const shops = context.shopFile.book
    const options = parseOptionQuery(query, defaults)
    const gatherAll = async (products: readonly string[]): Promise<readonly BoxInputs[]> => {
      const all: BoxInputs[] = []
      for (const gtin of products)
        all.push(await gatherInputs(command, context, { channelId, gtin, mayCall }))
      return all
    }
    const variants = await gatherAll(gtins)
    const standIns = await gatherAll(options.standIns)
    const knownNames = new Set(listOptions('where-to-buy').map(({ name }) => name))
    const ignoredParameters = [...new Set(query.keys())].filter((name) => !knownNames.has(name))
    const { config, clock } = command
    const [main] = variants
    const observedPrices =
      options.history === 'none' || main === undefined ? null : await readObservedPrices(context, main)
    const inputs = { variants, standIns }
    const view = explainBoxProducts(inputs, {
      options,
      defaults,
      ignoredParameters,
      config,
      shops,
      observedPrices,
      nowMs: clock.nowMs(),
    })
    command.io.err(
      `A running server may show a cached response for up to ${config.freshness.freshSeconds} more seconds.`,
    )
    print(command, { channelId, gtin: gtins.join('~'), ...view }, formatExplanation(view))
    return view.isShown ? 0 : 1
  } finally {
    await context.dispose()
  }
}

/** Parse the GTIN of a product, or those of its variants as in an address. @throws UsageError */
function parseVariants(text: string): readonly string[] {
  const gtins = text.split('~').map((part) => normalizeGtin(part.trim()))
  if (gtins.length > MAX_VARIANTS) throw new UsageError(`a box shows at most ${MAX_VARIANTS} variants`)
  return [
    ...new Set(
      gtins.map((gtin) => {
        if (gtin === undefined) throw new UsageError('a GTIN is 1 to 14 digits, without spaces or hyphens')
        return gtin
      }),
    ),
  ]
}

/** Parse an argument with `?` or `&` as the query of an address, and any other as one NAME=VALUE pair. */
function parseOptionArguments(args: readonly string[]): URLSearchParams {
  const query = new URLSearchParams()
  for (const argument of args) {
    const isQuery = argument.startsWith('?') || /&[a-z_]+=/.test(argument)
    const equals = argument.indexOf('=')
    if (equals < 1 && argument !== '?')
      throw new UsageError(`"${argument}" is not an option: write NAME=VALUE, for example stock=in`)
    const pairs = isQuery
      ? parseQueryString(argument.replace(/^\?/, ''))
      : [[argument.slice(0, equals), argument.slice(equals + 1)] as const]
    for (const [name, value] of pairs) query.append(name, value)
  }
  return query
}

function parseOptionQuery(query: URLSearchParams, defaults: OptionDefaults): BoxOptions {
  try {
    return parseBoxOptions(query, defaults, 'fragment')
  } catch (error) {
    if (error instanceof BadOptionError) throw new UsageError(error.publicMessage.replace(/\.$/, ''))
    throw error
  }
}

type ExplainRequest = Readonly<{ channelId: string; gtin: string; mayCall: boolean }>

/** Gather what a visit would use: the list of channels, the stored product, and one catalog call. */
async function gatherInputs(
  command: CommandContext,
  context: ContextWithCatalog,
  request: ExplainRequest,
): Promise<BoxInputs> {
  const { channelId, gtin, mayCall } = request
  if (!mayCall) return readBoxInputs(context, request, { kind: 'skipped', reason: '--no-call' })
  const isListed = await context.channels.getChannel(channelId).then(
    () => true,
    (error: unknown) => {
      if (error instanceof VitrineError) return false
      throw error
    },
  )
  const stored = await readBoxInputs(context, request, {
    kind: 'skipped',
    reason: 'the channel is not listed',
  })
  if (!isListed && stored.list !== undefined) return stored
  const client = await createCommandClient(command, context.catalog, { callPolicy: context.callPolicy })
  try {
    if (!isListed) {
      // The request above waited only briefly for the list of channels: fetch it now.
      await client.fetchChannels()
      return {
        ...stored,
        catalog: {
          kind: 'skipped',
          reason: 'the list of channels was fetched only now; run the command again',
        },
      }
    }
    const purpose = stored.entry?.product ? 'refresh' : 'lookup'
    const { value: product } = await client.fetchProduct({ channelId, gtin, purpose })
    return {
      ...stored,
      catalog: product === undefined ? { kind: 'not-found' } : { kind: 'product', product },
    }
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error
    return { ...stored, catalog: await describeCallFailure(command, context, { error, isListed }) }
  } finally {
    await client.close()
  }
}

async function describeCallFailure(
  { config, clock }: CommandContext,
  { callPolicy }: ContextWithCatalog,
  { error, isListed }: Readonly<{ error: CatalogError; isListed: boolean }>,
): Promise<CatalogLookupResult> {
  if (!(error instanceof CatalogCallBlockedError)) {
    const remedy = findErrorRemedy(error, config, { isCatalogListed: isListed }) ?? null
    return { kind: 'failed', text: `gave no usable response: ${error.message} (${error.code})`, remedy }
  }
  const { quota, keyRefusedUntilMs, breaker } = await callPolicy.readState()
  const nowMs = clock.nowMs()
  const toPaused = (reason: string, { code }: Readonly<{ code: string }>): CatalogLookupResult => ({
    kind: 'failed',
    text: `was not called: ${reason}`,
    remedy: findCodeRemedy(code, config) ?? null,
  })
  if (keyRefusedUntilMs > nowMs) return toPaused('it refused the key recently', CatalogKeyRefusedError)
  if (quota.limitedUntilMs > nowMs) {
    const until = formatTime(quota.limitedUntilMs, 'en')
    return toPaused(`the request limit is reached until ${until}`, CatalogRateLimitedError)
  }
  if (breaker !== 'closed') return toPaused('recent calls failed', CatalogUnreachableError)
  return toPaused('the hourly or daily limit of first look-ups is reached', CatalogCallBlockedError)
}

function formatExplanation({ summary, remedy, facts, offers, products }: ExplanationView): readonly string[] {
  return [
    summary,
    ...(remedy === null ? [] : [`       ${remedy}`]),
    ...facts.map(({ label, value }) => `${label}: ${value}`),
    ...offers.map(formatOffer),
    ...products.flatMap(formatProduct),
  ]
}

function formatProduct(product: ExplanationView['products'][number]): readonly string[] {
  const { gtin, title, role, outcome, remedy, facts, offers } = product
  return [
    '',
    `${title ?? gtin} (${role}): ${outcome}`,
    ...(remedy === null ? [] : [`       ${remedy}`]),
    ...facts.map(({ label, value }) => `${label}: ${value}`),
    ...offers.map(formatOffer),
  ]
}

function formatOffer({ text, outcome }: ExplanationView['offers'][number]): string {
  return `Offer: ${text}: ${outcome}`
}
