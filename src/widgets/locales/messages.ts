import type { Words } from './words.ts'

/** A date inside a sentence: the time stands between the two, spaces included. */
type AroundTime = Readonly<{ before: string; after: string }>

/** Words whose places are filled in by a call; those without places are as they stand in the language's file. */
export type Messages = Readonly<{
  words: Words
  nameBox(title: string): string
  nameLinkWithPrice(names: Readonly<{ merchant: string; price: string }>): string
  nameLinkWithoutPrice(merchant: string): string
  placeAt(merchant: string): string
  /** `count` chooses the plural form, `shown` is printed. */
  countMoreShops(number: Readonly<{ count: number; shown: string }>): string
  pricesChecked: AroundTime
}>

/** Makes a language's words ready to use; plurals are those of `Intl` for its tag. */
export function toMessages(tag: string, words: Words): Messages {
  const plurals = new Intl.PluralRules(tag)
  const [before = '', after = ''] = words.pricesChecked.split('{time}')
  return {
    words,
    nameBox: (title) => fill(words.boxName, { title }),
    nameLinkWithPrice: (names) => fill(words.linkWithPrice, names),
    nameLinkWithoutPrice: (merchant) => fill(words.linkWithoutPrice, { merchant }),
    placeAt: (merchant) => fill(words.atMerchant, { merchant }),
    countMoreShops: ({ count, shown }) =>
      fill(words.moreShops[plurals.select(count)] ?? words.moreShops.other, { count: shown }),
    pricesChecked: { before, after },
  }
}

/** In one pass: a shop may be named `{price}`. */
function fill(text: string, names: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (place, name: string) => names[name] ?? place)
}
