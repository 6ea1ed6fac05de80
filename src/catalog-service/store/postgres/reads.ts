import type { Kysely } from 'kysely'
import { StoreError } from '../../../errors.ts'
import type { Caller, CatalogReads, ChannelPlace } from '../catalog-store.ts'
import { type ChannelView, type ViewRow, toChannelView } from '../channel-view.ts'
import { fetchChannels } from '../channels.ts'
import { KEY_PREFIX_CHARACTERS, chooseKey } from '../keys.ts'
import { type PageStep, type StepAnswer, type Steps, makePage } from '../page-steps.ts'
import { type OfferRow, type ProductRow, toProduct } from '../product-rows.ts'
import type { CatalogTables } from '../schema.ts'
import { runText } from './connections.ts'
import type { Keeper } from './kept.ts'
import type { Opening } from './opening.ts'
import {
  SELECT_AFTER,
  SELECT_FIRST,
  SELECT_KEYS,
  SELECT_ONE,
  SELECT_STRANDS,
  SELECT_THESE,
  SELECT_VIEW,
} from './statements.ts'

/** How often something is read again that changed between two statements of an answer. */
const MAX_READINGS = 10

/** Ids of channels are uuids: other texts are no channel's, and the database need not take them. */
const CHANNEL_ID = /^[0-9a-f-]{36}$/

/** What reads are made of. */
export type ReadsOptions = Readonly<{ reader: Kysely<CatalogTables>; keeper: Keeper; opening: Opening }>

type Asked<Found> = Readonly<{ state: string; found: Found }>
type ProductTuple = readonly [
  gtin: string,
  title: string,
  brand: string | null,
  images: string,
  offers: readonly OfferRow[] | null,
]

/**
 * What answers requests from a server. What is at hand is of the state that the database named last; each statement names
 * the state that it saw, and where that is another one, all of the answer is read again. The caller's is held by the count.
 */
export function createPostgresReads({ reader, keeper, opening }: ReadsOptions): CatalogReads {
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- only who writes a statement knows what it finds
  const ask = <Found>(statement: string, parameters: readonly unknown[]): Promise<Asked<Found>> =>
    opening.ask(async () => {
      const [row] = await runText<Asked<Found>>(reader, statement, parameters)
      if (row === undefined) throw new StoreError("the catalog's database gave no answer")
      return row
    })
  const getView = async (place: ChannelPlace): Promise<{ state: string; view: ChannelView } | undefined> => {
    if (!CHANNEL_ID.test(place.channelId)) return undefined
    const kept = keeper.get()
    const known = kept.views.get(nameChannel(place))
    if (known !== undefined) return { state: kept.state, view: known }
    const asked = await fetchView(ask, place)
    // Of a view that shows nothing no statement follows that would tell that it is out of date.
    if (asked.view !== undefined && asked.view.size > 0)
      keeper.moveTo(asked.state).views.set(nameChannel(place), asked.view)
    return asked.view && { state: asked.state, view: asked.view }
  }
  /** `work` answers `MOVED` where the view was not of the state that it met. */
  const withView = async <T>(place: ChannelPlace, work: Work<T>): Promise<T | undefined> => {
    for (let readings = 0; readings < MAX_READINGS; readings += 1) {
      const known = await getView(place)
      if (known === undefined) return undefined
      const { state, result } = await work(known.view, known.state)
      if (state === known.state) return result
      keeper.moveTo(state)
    }
    throw new StoreError('the catalog changes faster than it can be read')
  }
  return {
    findKeyHolder: (key, hash) => keeper.get().callers.get(hash) ?? fetchCaller({ ask, keeper }, key, hash),
    findFirstCaller: () => keeper.get().first ?? fetchFirst({ ask, keeper }),
    fetchChannels: (organizationId) => opening.ask(() => fetchChannels({ reader }, organizationId)),
    findProduct: (place, gtin) =>
      withView(place, async (view) => {
        const { state, found } = await ask<ProductTuple | null>(SELECT_ONE, [gtin])
        return { state, result: (found && toProduct(toRow(found), view)) ?? null }
      }),
    fetchPage: (place, query) =>
      withView(place, (view, state) => takeStepsIn(ask, state, makePage({ view, ...query }))),
  }
}

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- only who writes a statement knows what it finds
type Ask = <Found>(statement: string, parameters: readonly unknown[]) => Promise<Asked<Found>>
type Worked<T> = Readonly<{ state: string; result: T | undefined }>
type Work<T> = (view: ChannelView, state: string) => Promise<Worked<T>>
type Asking = Readonly<{ ask: Ask; keeper: Keeper }>

function nameChannel({ organizationId, channelId }: ChannelPlace): string {
  return `${organizationId} ${channelId}`
}

/** The database is asked by the part of the key that is no secret. */
async function fetchCaller({ ask, keeper }: Asking, key: string, hash: string): Promise<Caller | undefined> {
  type KeyTuple = readonly [keyId: string, hash: string, id: string, dailyLimit: number | null]
  const { state, found } = await ask<readonly KeyTuple[]>(SELECT_KEYS, [key.slice(0, KEY_PREFIX_CHARACTERS)])
  const rows = found.map(([keyId, own, id, dailyLimit]) => ({ keyId, hash: own, id, dailyLimit }))
  const caller = chooseKey(rows, hash, state)
  if (caller !== undefined) keeper.moveTo(state).callers.set(hash, caller)
  return caller
}

async function fetchFirst({ ask, keeper }: Asking): Promise<Caller | undefined> {
  const { state, found } = await ask<readonly (readonly [string, number | null])[]>(SELECT_FIRST, [])
  const [first] = found
  if (first === undefined) return undefined
  const [id, dailyLimit] = first
  const caller: Caller = { organization: { id, dailyLimit }, keyId: null, state }
  keeper.moveTo(state).first = caller
  return caller
}

async function fetchView(
  ask: Ask,
  { organizationId, channelId }: ChannelPlace,
): Promise<{ state: string; view: ChannelView | undefined }> {
  const asked = await ask<readonly ViewTuple[]>(SELECT_VIEW, [channelId, organizationId])
  const { channels } = asked as typeof asked & { channels: number }
  if (channels === 0) return { state: asked.state, view: undefined }
  const rows = asked.found.map(toViewRow)
  return { state: asked.state, view: toChannelView(rows) }
}

type ViewTuple = readonly [
  networkId: number,
  network: string,
  networkChannelId: number,
  template: string | null,
  publisher: string,
  merchantId: number,
  merchant: string,
  reference: string | null,
]

function toViewRow(tuple: ViewTuple): ViewRow {
  const [network_id, network, network_channel_id, link_template, publisher, ...of] = tuple
  const [merchant_id, merchant, reference] = of
  const via = { network_id, network, network_channel_id, link_template, publisher }
  return { ...via, merchant_id, merchant, reference }
}

/** Takes the steps as long as all of them meet one state; else answers the other one, and no result. */
async function takeStepsIn<T>(ask: Ask, state: string, steps: Steps<T>): Promise<Worked<T>> {
  let taken = steps.next()
  while (!taken.done) {
    const answer = await answerStep(ask, taken.value)
    if (answer.state !== state) return { state: answer.state, result: undefined }
    taken = steps.next(answer)
  }
  return { state, result: taken.value }
}

async function answerStep(ask: Ask, step: PageStep): Promise<StepAnswer & { state: string }> {
  if (step.want === 'strands') {
    const { strands, length } = step
    const places = strands.map((_, place) => place)
    const columns = [0, 1, 2].map((column) => strands.map(({ key }) => key[column]))
    const ends = strands.map(({ after }) => after)
    const { state, found } = await ask<readonly (readonly string[])[] | null>(SELECT_STRANDS, [
      places,
      ...columns,
      ends,
      length,
    ])
    return { state, products: [], gtins: found ?? [] }
  }
  const { state, found } = await (step.want === 'after'
    ? ask<readonly ProductTuple[]>(SELECT_AFTER, [step.gtin, step.count])
    : ask<readonly ProductTuple[]>(SELECT_THESE, [step.gtins]))
  return { state, products: found.map(toRow), gtins: [] }
}

function toRow([gtin, title, brand, images, offers]: ProductTuple): ProductRow {
  return { gtin, title, brand, images, offers: offers ?? [] }
}
