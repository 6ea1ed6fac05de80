import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { findEncoding } from '../import/encoding.ts'
import { parseFeedMap } from '../import/column-map.ts'
import { FEED_FORMATS, parseFeedFormat } from '../import/formats.ts'
import { DAY_SECONDS, HOUR_SECONDS, MINUTE_SECONDS } from '../../clock.ts'
import { UsageError } from '../../errors.ts'
import { NOT_UTF8, decodeTextFile } from '../../lib/files.ts'
import { createLineParser } from './arguments.ts'

/** More frequent runs would load networks, which update their feeds a few times a day. */
const MIN_INTERVAL_SECONDS: number = 5 * MINUTE_SECONDS
const MAX_INTERVAL_SECONDS: number = 30 * DAY_SECONDS

const UNIT_SECONDS: Readonly<Record<string, number>> = {
  m: MINUTE_SECONDS,
  h: HOUR_SECONDS,
  d: DAY_SECONDS,
}

/** A column map is small; a larger file is a mistake, such as the feed itself. */
const MAX_MAP_CHARACTERS: number = 64 * 1024

/** Parse `30m`, `6h` or `1d`. @throws UsageError */
export function parseInterval(text: string): number {
  const [, number = '', unit = ''] = /^(\d{1,5})([mhd])$/.exec(text.trim().toLowerCase()) ?? []
  const seconds = Number(number) * (UNIT_SECONDS[unit] ?? NaN)
  if (seconds >= MIN_INTERVAL_SECONDS && seconds <= MAX_INTERVAL_SECONDS) return seconds
  throw new UsageError('--every accepts a time from 5m to 30d, such as 30m, 6h or 1d')
}

export function formatInterval(seconds: number): string {
  if (seconds % DAY_SECONDS === 0) return `${seconds / DAY_SECONDS}d`
  return seconds % HOUR_SECONDS === 0
    ? `${seconds / HOUR_SECONDS}h`
    : `${Math.round(seconds / MINUTE_SECONDS)}m`
}

/** Parse `50%` or `50`. @throws UsageError */
export function parseMaxRemoved(text: string): number {
  const percent = Number(/^(\d{1,3}) ?%?$/.exec(text.trim())?.[1] ?? NaN)
  if (percent <= 100) return percent
  throw new UsageError('--max-removed accepts 0% to 100%')
}

/** Read a column map. Return it as JSON. @throws UsageError when the file cannot be read or is not a column map */
function readMapFile(path: string): string {
  const json = readMapJson(path)
  parseFeedMap(json)
  return JSON.stringify(json)
}

function readMapJson(path: string): unknown {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown reason'
    throw new UsageError(`--map: ${path} cannot be read (${code})`)
  }
  const text = decodeTextFile(bytes)
  if (text === undefined) throw new UsageError(`--map: ${path} is ${NOT_UTF8}`)
  if (text.length > MAX_MAP_CHARACTERS) throw new UsageError(`--map: ${path} is too large for a map`)
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new UsageError(`--map: ${path} is not JSON`)
  }
}

/** How to read a feed. */
export type ReadOptions = Readonly<{
  network?: string
  merchant?: string
  format?: string
  map?: string
  currency?: string
  decimal?: '.' | ','
  encoding?: string
}>

/** @throws UsageError */
function parseCurrency(text: string): string {
  if (/^[a-z]{3}$/i.test(text)) return text.toUpperCase()
  throw new UsageError('--currency accepts a code of three letters, such as EUR')
}

/** @throws UsageError */
function parseDecimal(text: string): string {
  if (text === '.' || text === ',') return text
  throw new UsageError('--decimal accepts . or ,')
}

/** @throws UsageError */
function parseEncoding(text: string): string {
  const encoding = findEncoding(text)
  if (encoding !== undefined) return encoding
  throw new UsageError('--encoding accepts the name of an encoding, such as utf-8, windows-1250 or shift_jis')
}

/** Add the options for reading a feed. `clearHint`: how a command removes a setting. */
export function addReadOptions(command: Command, clearHint: string = ''): Command {
  const unlessNone =
    (parse: (text: string) => string) =>
    (text: string): string =>
      isNone(text, clearHint) ? text : parse(text)
  return command
    .option(
      '--network <name>',
      `affiliate network of all offers, in place of what the feed says${clearHint}`,
      createLineParser('--network needs a name of'),
    )
    .option(
      '--merchant <name>',
      `merchant (shop) of all offers, in place of what the feed says${clearHint}`,
      createLineParser('--merchant needs a name of'),
    )
    .option(
      '--format <name>',
      `${FEED_FORMATS.join(', ')}; default: detected${clearHint}`,
      unlessNone(parseFeedFormat),
    )
    .option(
      '--map <file>',
      `column map for another format, or changes to a format: a JSON file, see docs/publish/feeds.md${clearHint}`,
      unlessNone(readMapFile),
    )
    .option(
      '--currency <code>',
      `currency of prices that name none, such as EUR${clearHint}`,
      unlessNone(parseCurrency),
    )
    .option('--decimal <sign>', `decimal sign of prices, . or ,${clearHint}`, unlessNone(parseDecimal))
    .option(
      '--encoding <name>',
      `encoding, such as windows-1250, in place of the one that is declared or detected${clearHint}`,
      unlessNone(parseEncoding),
    )
}

export type HeaderOptions = Readonly<{ headerFile?: string }>

/** Add the option for the headers of requests. */
export function addHeaderOption(command: Command, clearHint: string = ''): Command {
  return command.option(
    '--header-file <file>',
    `file with request headers, one "Name: value" per line; secrets as in an address${clearHint}`,
    (text: string) => (isNone(text, clearHint) ? text : resolve(text)),
  )
}

function isNone(text: string, clearHint: string): boolean {
  return clearHint !== '' && text === 'none'
}
