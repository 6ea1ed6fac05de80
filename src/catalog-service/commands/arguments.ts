import { uuid } from 'zod'
import { CHANNEL_KINDS, type ChannelKind, MAX_NAME_CHARACTERS } from '../../catalog/contract.ts'
import { createAffiliateLink } from '../store/networks.ts'
import { wholeNumber } from '../../config/parsers.ts'
import { UsageError } from '../../errors.ts'
import { MAX_LINK_CHARACTERS, isUsableLink } from '../../offers/links.ts'

// Parsers that commander calls for arguments and options. All throw UsageError for an invalid value.

export const EXAMPLE_CHANNEL = '952a0000-0000-4000-8000-0000000000a1'

const MAX_DAILY_LIMIT = 1_000_000_000

const MAX_ROWS = 10_000_000

/** The value that clears a setting; commander reads an empty text as `null`. */
const NONE = 'none'

/** `--yes`: also remove what depends on it. */
export type Confirmation = Readonly<{ yes?: boolean }>

export function noneToNull<Value>(value: Value | typeof NONE): Value | null {
  return value === NONE ? null : value
}

/** Return a parser of names and references. `subject` begins the error message, for example "a channel needs a name of". */
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

function describeAddressProblem(address: string): string {
  if (!/^https?:\/\//i.test(address)) return 'that begins with https:// or http://'
  if (/\s/.test(address)) return 'without spaces'
  if (/^https?:\/\/[^/?#]*@/i.test(address)) return 'without a user name or password'
  if (address.length > MAX_LINK_CHARACTERS) return `of at most ${MAX_LINK_CHARACTERS} characters`
  // oxlint-disable-next-line no-control-regex -- an address must not contain them
  if (/[\u0000-\u001f\u007f-\u009f"<>`\\]/.test(address))
    return 'without quotes, angle brackets, back-ticks, backslashes and control characters'
  return 'with a valid host after https:// or http://'
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

/** Values that fill a template to check that the result is a usable address. */
const SAMPLE_LINK_PARTS = {
  merchantUrl: 'https://shop.example/p?a=1&b=2',
  merchant: '12345',
  publisher: '67890',
} as const

const SUB_NOTE =
  '{sub} is empty in the links of the catalog. The widget server fills it in, if the file of VITRINE_SUB_IDS_FILE has a rule for this network.'

/** Return a link template, with notes about `{sub}` and unknown placeholders. */
export function parseTemplate(text: string) {
  if (text === NONE) return { template: null, notes: [] }
  const template = text.trim()
  if (!template.includes('{url}'))
    throw new UsageError(
      "--template needs {url}, which is replaced by the encoded address of the merchant's page",
    )
  const link = createAffiliateLink({ ...SAMPLE_LINK_PARTS, template })
  if (!isUsableLink(link))
    throw new UsageError(
      `--template accepts an address ${describeAddressProblem(link)}, with {url}, {merchant}, {publisher} and {sub}`,
    )
  const placeholders = new Set(template.match(/\{[^{}]*\}/g))
  const notes = placeholders.has('{sub}') ? [SUB_NOTE] : []
  for (const supported of ['{url}', '{merchant}', '{publisher}', '{sub}']) placeholders.delete(supported)
  if (placeholders.size === 0) return { template, notes }
  const unknownPlaceholders = [...placeholders].join(', ')
  return {
    template,
    notes: [
      ...notes,
      `${unknownPlaceholders} is not replaced in links: only {url}, {merchant}, {publisher} and {sub} are.`,
    ],
  }
}
