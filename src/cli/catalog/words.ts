import { z } from 'zod'
import { CHANNEL_KINDS, type ChannelKind, MAX_NAME_CHARACTERS } from '../../catalog/contract.ts'
import { makeAffiliateLink } from '../../catalog-service/store/networks.ts'
import { UsageError } from '../../errors.ts'
import { MAX_LINK_CHARACTERS, isUsableLink } from '../../offers/links.ts'

/** Largest daily limit that makes sense; more is no limit. */
const MAX_DAILY_LIMIT = 1_000_000_000

/** Most rows that `--limit` may ask for. */
const MAX_ROWS = 10_000_000

/** The word that takes something away. */
const NONE = 'none'

/**
 * A name, without white space around it. `what` stands in the message: "a channel".
 * @throws UsageError when it is empty, longer than a name may be, or has control characters.
 */
export function parseName(text: string, what: string): string {
  const name = text.trim()
  if (isPlainText(name)) return name
  throw new UsageError(`${what} needs a name of 1 to ${MAX_NAME_CHARACTERS} characters on one line`)
}

/** A name that may be left out. */
export function parseNewName(text: string | undefined, what: string): string | undefined {
  return text === undefined ? undefined : parseName(text, what)
}

/** What a network calls a publisher or a merchant. @throws UsageError as `parseName` does. */
export function parseReference(text: string, option: string): string {
  const reference = text.trim()
  if (isPlainText(reference)) return reference
  throw new UsageError(`${option} accepts 1 to ${MAX_NAME_CHARACTERS} characters on one line`)
}

function isPlainText(text: string): boolean {
  return text !== '' && text.length <= MAX_NAME_CHARACTERS && !/\p{Cc}|[\u2028\u2029]/u.test(text)
}

/** One of the nine kinds of the contract. @throws UsageError that lists them. */
export function parseKind(text: string): ChannelKind {
  const kind = CHANNEL_KINDS.find((known) => known === text.toLowerCase())
  if (kind === undefined) throw new UsageError(`--kind accepts ${CHANNEL_KINDS.join(', ')}`)
  return kind
}

/** The address of a channel; `none`: it has none. @throws UsageError when it is no address that a reader could open. */
export function parseUrl(text: string): string | null {
  if (text === NONE) return null
  if (isUsableLink(text)) return text
  throw new UsageError(`--url accepts an address ${describeAddressFault(text)}, or none`)
}

/** What an address must be that this one is not. */
function describeAddressFault(address: string): string {
  if (!/^https?:\/\//i.test(address)) return 'that begins with https:// or http://'
  if (/\s/.test(address)) return 'without blanks'
  if (/^https?:\/\/[^/?#]*@/i.test(address)) return 'without a user name or password'
  if (address.length > MAX_LINK_CHARACTERS) return `of at most ${MAX_LINK_CHARACTERS} characters`
  // oxlint-disable-next-line no-control-regex -- these are what no address has
  if (/[\u0000-\u001f\u007f-\u009f"<>`\\]/.test(address))
    return 'without quotes, angle brackets, back-ticks, backslashes and control characters'
  return 'with a host that there may be, after https:// or http://'
}

/** A new channel's id, in lower case. @throws UsageError when it is no uuid. */
export function parseNewId(text: string): string {
  const id = z.uuid().safeParse(text)
  if (!id.success) throw new UsageError('--id accepts a uuid')
  return id.data.toLowerCase()
}

/** Requests a UTC day; `none`: no limit. @throws UsageError when it is neither. */
export function parseDailyLimit(text: string): number | null {
  if (text === NONE) return null
  return parseWhole(text, { option: '--daily-limit', least: 0, most: MAX_DAILY_LIMIT, other: ', or none' })
}

/** How many rows to list. @throws UsageError when it is no whole number from 1 on. */
export function parseLimit(text: string | undefined): number | undefined {
  return text === undefined
    ? undefined
    : parseWhole(text, { option: '--limit', least: 1, most: MAX_ROWS, other: '' })
}

type Range = Readonly<{ option: string; least: number; most: number; other: string }>

function parseWhole(text: string, { option, least, most, other }: Range): number {
  const number = /^\d{1,12}$/.test(text) ? Number(text) : -1
  if (number >= least && number <= most) return number
  throw new UsageError(`${option} accepts a whole number from ${least} to ${most}${other}`)
}

/** A link template, and what to say about it though it can be used. */
export type ParsedTemplate = Readonly<{ template: string | null; notes: readonly string[] }>

/** What a template is filled with to see whether an address comes out. */
const TRIAL = {
  merchantUrl: 'https://shop.example/p?a=1&b=2',
  merchant: '12345',
  publisher: '67890',
} as const

/** A network's link template; `none`: it has none. @throws UsageError when no address comes out of it. */
export function parseTemplate(text: string): ParsedTemplate {
  if (text === NONE) return { template: null, notes: [] }
  const template = text.trim()
  if (!template.includes('{url}')) {
    throw new UsageError("--template needs {url} in it: that is where the merchant's page goes, encoded")
  }
  const link = makeAffiliateLink({ ...TRIAL, template })
  if (!isUsableLink(link)) {
    throw new UsageError(
      `--template accepts an address ${describeAddressFault(link)}, with {url}, {merchant} and {publisher} in it`,
    )
  }
  const unknown = [...new Set(template.match(/\{[^{}]*\}/g))].filter(
    (place) => !['{url}', '{merchant}', '{publisher}'].includes(place),
  )
  if (unknown.length === 0) return { template, notes: [] }
  return {
    template,
    notes: [
      `${unknown.join(', ')} stays in every link as it is: only {url}, {merchant} and {publisher} are filled in.`,
    ],
  }
}

/** The value of an option whose word `none` takes it away. */
export function parseReferenceOrNone(text: string): string | null {
  return text === NONE ? null : parseReference(text, '--reference')
}
