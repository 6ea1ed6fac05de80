import { CACHE_SECONDS, MAX_PAGE_PRODUCTS } from '../../catalog/contract.ts'
import { MINUTE_MS, SECOND_MS } from '../../clock.ts'

const CACHE_MINUTES = (CACHE_SECONDS * SECOND_MS) / MINUTE_MS

/** What the interface is, in paragraphs. Backticks mark code. */
export const INTRODUCTION: readonly string[] = [
  'A read-only interface over HTTP and JSON: the channels of an organization and, for each, the products of its affiliate networks with their offers and tracking links. Only shops that the channel is approved for are in it.',
  'Every request carries an API key: `Authorization: Bearer KEY`. Whoever runs the service makes one with `vitrine catalog keys add NAME`. Keep it on a server: it is not for browsers.',
]

/** What the description of the interface leaves open, and how this service decides it: `**Subject.** text`. Backticks mark code. */
export const DECISIONS: readonly string[] = [
  `**Page size.** \`limit\` is 50 when left out, at least 1 and at most ${MAX_PAGE_PRODUCTS}. Anything else is 400: 0, ${MAX_PAGE_PRODUCTS + 1}, a sign, a zero in front, an empty value, or \`limit\` given twice.`,
  '**Bad requests.** A malformed `limit`, `cursor` or `gtin` is 400, and the body says what is accepted. They are read before the channel is looked for. Other query parameters are ignored.',
  '**Unknown channels.** A channel that does not exist, one of another organization, and a text that is no uuid are the same 404: nobody can find out which channels others have.',
  '**Products without an approved offer.** They are left out of lists, and a look-up of one is 404. So every product that is sent has at least one offer.',
  '**Links.** Every offer has a link of the network channel that is assigned to the channel in its network: made by the network’s link template with the publisher’s reference, or the feed’s own, which serves only the network channel that it was imported for. An offer without such a link is not sent. Of one shop in one network and currency, the feed’s own links stand before those of the template.',
  '**Error bodies.** Every answer of 400 and above, 404 included, has the body `{ "error": "…" }`, with words for a person. Do not parse the words: go by the status.',
  '**What counts.** A request counts as soon as its key is found valid, whatever the answer is: 200, 304, 400, 404, 405 and 500. A 401 does not count, and neither do 429 and 503. All keys of an organization share its limit, which starts again at 00:00 UTC.',
  '**Methods.** HEAD is allowed wherever GET is, and counts the same. Any other method is 405.',
  '**GTINs.** A look-up takes 1 to 14 digits and puts zeros in front of a shorter code. The check digit is not tested: a code that nobody sells is 404. Answers always have 14 digits. An address that ends in `/products/`, with an empty code, is 404: the list is `/products`.',
  '**Fields that may be missing.** `brand` is left out when it is not known, in lists and in look-ups alike; `old_price` when the shop gives none. `images` may be empty. Only the `url` of a channel and `next_cursor` can be `null`. All other fields are always there. Of a merchant there is only its `name`, of an image only its `url`.',
  '**Availability.** An open set. Known values are `in_stock`, `out_of_stock`, `preorder`, `backorder`, `discontinued`, and `unknown` where the feed says nothing. Any other value passes as the feed wrote it.',
  '**Networks.** An open set: new names appear as networks are added.',
  '**Cursors.** They are opaque, never expire, and survive restarts of the service, which remembers nothing of a walk. A walk during an import neither skips nor repeats a product that was there all along.',
  '**The last page.** Its `next_cursor` is `null`, also when it is full. There is never an empty page after it.',
  '**Order of offers.** None is promised. Sort by what matters to you.',
  `**Caching.** 200 and 404 may be cached by whoever asked, for ${CACHE_MINUTES} minutes; every other error is \`no-store\`. Each 200 has an \`ETag\`: with it in \`If-None-Match\`, what has not changed is answered by 304 without a body.`,
]
