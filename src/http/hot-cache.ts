import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Clock, SECOND_MS, isFuture } from '../clock.ts'
import { type Hold, isCurrent } from '../freshness/cached.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import { type Memory, type MemoryBounds, createMemory } from '../lib/lru-cache.ts'
import type { WidgetState } from './answer.ts'
import { type Ages, toCacheControl } from './cache-headers.ts'
import { type EncodedBody, chooseEncoding } from './encodings.ts'
import { type Form, sendForm } from './forms.ts'

/** Addresses that one answer is found by at once; of others their canonical form is worked out. */
const MAX_ADDRESSES = 2
/** A longer address is worked out every time: it would take more room than it saves. */
const MAX_ADDRESS_CHARACTERS = 256
/** How often a use is noted: which answer was used longest ago need not be known more exactly. */
const NOTED_EVERY_MS: number = 10 * SECOND_MS
/** Room for the addresses of an answer and what sends it again, in bytes. Header blocks are shared. */
const EXTRAS_BYTES = 1_536

/** An answer that was made once. */
export type ReadyAnswer = Readonly<{
  /** Which data it was made of: equal for equal bytes. */
  stamp: string
  state: WidgetState
  /** `null` for an empty fragment, which has nothing to revalidate. */
  etag: string | null
  /** A fragment has only the first of the three. */
  body: EncodedBody
}>

/** What sends a ready answer again without asking anybody. */
export type Warmth = Readonly<{
  hold: Hold
  /** Made once for each encoding; a fragment's are one and the same. */
  forms: Readonly<Record<'identity' | 'gzip' | 'br', Form>>
  /** What `Cache-Control` counts down from. */
  ages: Ages
  /** Called for each answer that is sent. */
  count(): void
}>

/** Ready answers by identity, within bounds; a warm one is found by the very address of a request. */
export type HotCache = Readonly<{
  get(identity: string): ReadyAnswer | undefined
  /** An answer of other data takes the place of the one before. */
  set(identity: string, answer: ReadyAnswer): void
  /** The kept answer if it is of this data, else what `make` makes, once for all who ask meanwhile; it is kept. */
  getOrMake(
    wanted: Readonly<{ identity: string; stamp: string }>,
    make: () => Promise<ReadyAnswer>,
  ): Promise<ReadyAnswer>
  /** From now on whoever asks for the address has the answer at once, as long as its hold lasts. */
  warm(identity: string, address: string, warmth: Warmth): void
  /** Has the answer a warmth that lasts at least until then, Unix milliseconds? */
  isWarm(identity: string, untilMs: number): boolean
  /** Sends a warm answer. `false`: nothing was done, somebody else has to answer. */
  answer(request: IncomingMessage, response: ServerResponse): boolean
  entryCount(): number
  byteCount(): number
}>

/** `identify`: the identity of a plain address, `undefined` where only the router can tell. */
export type HotCacheDetails = Readonly<{
  bounds: MemoryBounds
  /** Room that the tags of an answer take, in bytes; nothing where none are sent. */
  tagBytes?: number
  clock: Clock
  identify(address: string): string | undefined
}>

type Entry = {
  readonly identity: string
  readonly answer: ReadyAnswer
  readonly addresses: string[]
  notedAtMs: number
  warmth: Warmth | null
}

/** Makes the cache of one process. Bodies, header blocks and addresses count towards its bounds. */
export function createHotCache({ bounds, tagBytes = 0, clock, identify }: HotCacheDetails): HotCache {
  const shelf = createShelf(bounds)
  return {
    ...createKeeping(shelf, EXTRAS_BYTES + tagBytes),
    answer(request, response) {
      const { method, url = '' } = request
      if (method !== 'GET' && method !== 'HEAD') return false
      const nowMs = clock.nowMs()
      const entry = shelf.findByAddress(url, nowMs) ?? shelf.findByIdentity(identify(url), url)
      if (!entry?.warmth) return false
      const { hold, ages, count } = entry.warmth
      if (nowMs >= hold.untilMs || isFuture(ages.asOfMs, nowMs) || !isCurrent(hold)) return false
      count()
      send(entry.answer, entry.warmth, { request, response, nowMs })
      return true
    },
    entryCount: shelf.entries.entryCount,
    byteCount: shelf.entries.byteCount,
  }
}

type Shelf = Readonly<{
  entries: Memory<Entry>
  findByAddress(address: string, nowMs: number): Entry | undefined
  /** A warm one is found by the address, too, from now on. */
  findByIdentity(identity: string | undefined, address: string): Entry | undefined
  remember(entry: Entry, address: string): void
}>

function createShelf(bounds: MemoryBounds): Shelf {
  const byAddress = new Map<string, Entry>()
  const entries = createMemory<Entry>(bounds, (entry) => {
    for (const address of entry.addresses) byAddress.delete(address)
  })
  const remember = (entry: Entry, address: string): void => {
    if (address.length > MAX_ADDRESS_CHARACTERS || byAddress.get(address) === entry) return
    if (entry.addresses.length === MAX_ADDRESSES) byAddress.delete(entry.addresses.shift() ?? '')
    entry.addresses.push(address)
    byAddress.set(address, entry)
  }
  return {
    entries,
    remember,
    findByAddress(address, nowMs) {
      const entry = byAddress.get(address)
      if (entry === undefined || Math.abs(nowMs - entry.notedAtMs) < NOTED_EVERY_MS) return entry
      entry.notedAtMs = nowMs
      // Asked for by its identity, too: what is used stays.
      return entries.get(entry.identity)
    },
    findByIdentity(identity, address) {
      const entry = identity === undefined ? undefined : entries.get(identity)
      if (entry?.warmth) remember(entry, address)
      return entry
    },
  }
}

function createKeeping(
  { entries, remember }: Shelf,
  extrasBytes: number,
): Pick<HotCache, 'get' | 'set' | 'getOrMake' | 'warm' | 'isWarm'> {
  const flights = createSingleFlight<ReadyAnswer>()
  const set = (identity: string, answer: ReadyAnswer): void => {
    const { identity: plain, gzip, brotli } = answer.body
    const bytes = plain.length + gzip.length + brotli.length + extrasBytes
    entries.set(identity, { identity, answer, warmth: null, addresses: [], notedAtMs: -Infinity }, bytes)
  }
  return {
    get: (identity) => entries.get(identity)?.answer,
    set,
    async getOrMake({ identity, stamp }, make) {
      const kept = entries.get(identity)?.answer
      if (kept?.stamp === stamp) return kept
      return flights.run(`${identity} ${stamp}`, async () => {
        const made = await make()
        set(identity, made)
        return made
      })
    },
    warm(identity, address, warmth) {
      const entry = entries.get(identity)
      if (entry === undefined) return
      entry.warmth = warmth
      remember(entry, address)
    },
    isWarm(identity, untilMs) {
      const hold = entries.get(identity)?.warmth?.hold
      return hold !== undefined && hold.untilMs >= untilMs && isCurrent(hold)
    },
  }
}

type Exchange = Readonly<{ request: IncomingMessage; response: ServerResponse; nowMs: number }>

function send({ etag }: ReadyAnswer, warmth: Warmth, { request, response, nowMs }: Exchange): void {
  const form = warmth.forms[chooseEncoding(request.headers['accept-encoding']) ?? 'identity']
  sendForm(request, response, { etag, form, cacheControl: toCacheControl(warmth.ages, nowMs), nowMs })
}
