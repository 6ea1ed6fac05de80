import { cleanText } from '../../offers/text.ts'
import { decodeEntities } from './entities.ts'

/** Characters of a title, a brand or a shop's name that are kept; longer ones end in an ellipsis. */
const MAX_TEXT_CHARACTERS = 1_000

/** Names of HTML only, so that `<Pro>` and `5 < 10` stay. */
const BLOCK_TAG = /<\/?(?:br|div|h[1-6]|hr|li|ol|p|table|tbody|td|th|tr|ul)(?:\s[^<>]*)?\/?>/gi
const INLINE_TAG =
  /<\/?(?:a|abbr|b|big|center|em|font|i|img|mark|s|small|span|strike|strong|sub|sup|u)(?:\s[^<>]*)?\/?>/gi

/**
 * Text of a table or an XML feed as a reader should see it: entities decoded once, tags of HTML gone, runs of white space
 * as one space, invisible characters gone. Letters that were decoded wrongly long ago (`StyloÂ®`) stay as they came.
 */
export function toFeedText(text: string): string {
  return cleanText(stripTags(decodeEntities(text)), MAX_TEXT_CHARACTERS)
}

function stripTags(text: string): string {
  return text.includes('<') ? text.replace(BLOCK_TAG, ' ').replace(INLINE_TAG, '') : text
}
