import { ImportError } from '../../errors.ts'
import type { FeedMap } from './feed-map.ts'
import { findUsTimeMs } from './feed-time.ts'

/** `HDR|id of the shop|its name|mm/dd/yyyy hh:mm:ss`, in UTC. */
const HEADER_PATTERN = /^\s*HDR\|([^|\r\n]*)\|([^|\r\n]*)(?:\|([^|\r\n]*))?/

export function isRakuten(text: string): boolean {
  return HEADER_PATTERN.test(text)
}

/** Add the shop and the time of the file's first line to the map. @throws ImportError when there is no such line. */
export function addRakutenHeader(map: FeedMap, head: string, file: string): FeedMap {
  const [line, merchantReference = '', merchant = '', time = ''] = HEADER_PATTERN.exec(head) ?? []
  if (line === undefined)
    throw new ImportError(`${file} does not begin with a line HDR, as a feed of Rakuten Advertising does`)
  const timeMs = findUsTimeMs(time)
  const constants = {
    merchant,
    merchantReference,
    checkedAt: timeMs === undefined ? '' : new Date(timeMs).toISOString(),
  }
  const fields = Object.entries(constants).map(([name, value]) => [name, { value: value.trim() }])
  return { ...map, fields: { ...map.fields, ...Object.fromEntries(fields) } }
}
