import { uuid } from 'zod'
import { CHANNEL_KINDS, type ChannelKind, MAX_NAME_CHARACTERS } from '../../catalog/contract.ts'
import { createAffiliateLink } from '../../catalog-service/store/networks.ts'
import { wholeNumber } from '../../config/parsers.ts'
import { UsageError } from '../../errors.ts'
import { MAX_LINK_CHARACTERS, isUsableLink } from '../../offers/links.ts'

// Parsers of arguments and options, as commander calls them. All throw UsageError for a text that they do not accept.

/** What stands for a channel's id in examples. */
export const EXAMPLE_CHANNEL = '952a0000-0000-4000-8000-0000000000a1'

/** Largest daily limit that makes sense; more is no limit. */
const MAX_DAILY_LIMIT = 1_000_000_000

/** Most rows that `--limit` may ask for. */
const MAX_ROWS = 10_000_000

/** The word that takes something away; commander takes `null` for an empty text. */
const NONE = 'none'

/** `--yes`: also what takes more with it. */
export type Confirmation = Readonly<{ yes?: boolean }>

export function noneToNull<Value>(value: Value | typeof NONE): Value | null {
  return value === NONE ? null : value
}

/** Return a parser of names and references. `subject` begins its message: "a channel needs a name of". */
export function createLineParser(subject: string): (text: string) => string {
  return (argument) => {
    const text = argument.trim()
    if (text !== '' && text.length <= MAX_NAME_CHARACTERS && !/\p{Cc}|[\u2028\u2029]/u.test(text)) return text
    throw new UsageError(`${subject} 1 to ${MAX_NAME_CHARACTERS} characters on one line`)
  }
}

export function parseChannelKind(text: string): ChannelKind {
  const kind = CHANNEL_KINDS.find((channelKind) => channelKind === text.toLowerCase())
  if (kind === undefined) throw new UsageError(`--kind accepts ${CHANNEL_KINDS.join(', ')}`)
  return kind
}

export function parseChannelUrl(text: string): string {
  if (text === NONE || isUsableLink(text)) return text
  throw new UsageError(`--url accepts an address ${describeAddressProblem(text)}, or none`)
}

/** What an address must be that this one is not. */
function describeAddressProblem(address: string): string {
  if (!/^https?:\/\//i.test(address)) return 'that begins with https:// or http://'
  if (/\s/.test(address)) return 'without blanks'
  if (/^https?:\/\/[^/?#]*@/i.test(address)) return 'without a user name or password'
  if (address.length > MAX_LINK_CHARACTERS) return `of at most ${MAX_LINK_CHARACTERS} characters`
  // oxlint-disable-next-line no-control-regex -- these are what no address has
  if (/[\u0000-\u001f\u007f-\u009f"<>`\\]/.test(address))
    return 'without quotes, angle brackets, back-ticks, backslashes and control characters'
  return 'with a host that there may be, after https:// or http://'
}

export function parseNewChannelId(text: string): string {
  const id = uuid().safeParse(text)
  if (!id.success) throw new UsageError('--id accepts a uuid')
  return id.data.toLowerCase()
}

const dailyLimitParser = wholeNumber(0, MAX_DAILY_LIMIT)
const limitParser = wholeNumber(1, MAX_ROWS)

export function parseDailyLimit(text: string): number | typeof NONE {
  const value = text === NONE ? NONE : dailyLimitParser.parse(text)
  if (value === undefined) throw new UsageError(`--daily-limit accepts ${dailyLimitParser.expects}, or none`)
  return value
}

export function parseLimit(text: string): number {
  const value = limitParser.parse(text)
  if (value === undefined) throw new UsageError(`--limit accepts ${limitParser.expects}`)
  return value
}

/** What a template is filled with to see whether an address comes out. */
const SAMPLE_LINK_PARTS = {
  merchantUrl: 'https://shop.example/p?a=1&b=2',
  merchant: '12345',
  publisher: '67890',
} as const

/** Return a link template, and what to say about it though it can be used. */
export function parseTemplate(text: string) {
  if (text === NONE) return { template: null, notes: [] }
  const template = text.trim()
  if (!template.includes('{url}'))
    throw new UsageError("--template needs {url} in it: that is where the merchant's page goes, encoded")
  const link = createAffiliateLink({ ...SAMPLE_LINK_PARTS, template })
  if (!isUsableLink(link))
    throw new UsageError(
      `--template accepts an address ${describeAddressProblem(link)}, with {url}, {merchant} and {publisher} in it`,
    )
  const placeholders = new Set(template.match(/\{[^{}]*\}/g))
  for (const supported of ['{url}', '{merchant}', '{publisher}']) placeholders.delete(supported)
  if (placeholders.size === 0) return { template, notes: [] }
  const unknownPlaceholders = [...placeholders].join(', ')
  return {
    template,
    notes: [
      `${unknownPlaceholders} stays in every link as it is: only {url}, {merchant} and {publisher} are filled in.`,
    ],
  }
}
