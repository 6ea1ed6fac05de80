import { z } from 'zod'
import { CHANNEL_KINDS } from '../catalog/contract.ts'
import { PRICE_PATTERN } from '../offers/money.ts'

/**
 * What the service sends, as strict schemas: nothing else is in an answer. The caller's schemas in catalog/contract.ts are
 * tolerant instead. The `Wire…` types there are the types of these, which a test holds; openapi.json is made from them.
 */

const channel = z
  .strictObject({
    id: z.guid().describe('Stands in the addresses of the other two operations. Sent in lower case.'),
    name: z.string().describe('What its organization calls it.'),
    kind: z.enum(CHANNEL_KINDS).describe('What it is.'),
    url: z.string().nullable().describe('Where the channel is; `null` when it has no address.'),
  })
  .describe('A website, social account, app or similar of the organization.')

const merchant = z
  .strictObject({ name: z.string().describe('As the feed wrote it.') })
  .describe('The shop that sells.')

const image = z
  .strictObject({ url: z.string().min(1).describe('As the feed wrote it.') })
  .describe('A picture of a product.')

const price = z.string().regex(PRICE_PATTERN)

const offer = z
  .strictObject({
    merchant,
    network: z
      .string()
      .describe('The affiliate network of the offer. An open set: a name, as the catalog knows the network.'),
    price: price.describe(
      'A decimal number above zero, as text: one to twelve digits and up to four decimals, as the feed wrote it.',
    ),
    old_price: price
      .describe(
        'The former price, in the form of `price`; left out when the shop gives none. It may be below `price`: an offer is on sale only when it is above.',
      )
      .exactOptional(),
    currency: z
      .string()
      .regex(/^[A-Z]{3}$/)
      .describe(
        'Currency code, three capital letters. Compare prices within one currency only: a product may have offers in several.',
      ),
    availability: z
      .string()
      .describe(
        'An open set: `in_stock`, `out_of_stock`, `preorder`, `backorder`, `discontinued`, `unknown`. Any other value passes as the feed wrote it.',
      ),
    affiliate_url: z
      .string()
      .regex(/^[Hh][Tt][Tt][Pp][Ss]?:\/\//)
      .describe("The channel's own tracking link. Use it unchanged: a click on it counts for this channel."),
  })
  .describe('A product at one shop, through one network.')

const product = z
  .strictObject({
    gtin: z
      .string()
      .regex(/^\d{14}$/)
      .describe('14 digits; shorter codes (EAN, UPC) stand with zeros in front.'),
    title: z.string().min(1).describe('As the feed wrote it. Show it as text, not as markup.'),
    brand: z
      .string()
      .min(1)
      .describe('Left out when it is not known; lists have it like look-ups.')
      .exactOptional(),
    images: z.array(image).describe('In the order of the feed; empty when it has none.'),
    offers: z
      .array(offer)
      .min(1)
      .describe(
        'Only offers of shops that the channel is approved for; at least one. In no particular order.',
      ),
  })
  .describe('A product with the offers that the channel may show.')

const channelList = z
  .strictObject({ items: z.array(channel).describe('Every channel of the organization of the key.') })
  .describe('The channels of an organization.')

const productPage = z
  .strictObject({
    items: z.array(product).describe('Up to `limit` products, ordered by `gtin`.'),
    next_cursor: z
      .string()
      .min(1)
      .nullable()
      .describe('To be passed unchanged as `cursor` for the next page; `null` on the last one.'),
  })
  .describe("One page of a channel's products.")

const error = z
  .strictObject({ error: z.string().min(1).describe('What is wrong, in words for a person.') })
  .describe('Every answer of 400 and above has this body.')

export const ANSWERS = {
  Channel: channel,
  ChannelList: channelList,
  Product: product,
  ProductPage: productPage,
  Offer: offer,
  Merchant: merchant,
  Image: image,
  Error: error,
} as const

export type AnswerName = keyof typeof ANSWERS
