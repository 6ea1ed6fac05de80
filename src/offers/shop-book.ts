import { foldCase } from './text.ts'

/** What the publisher says about a shop. */
export type Shop = Readonly<{
  /** Shown to readers instead of the merchant's name. */
  name: string
  /** Path below the public address; `null` without a logo. */
  logoPath: string | null
  /** One line, such as "Free delivery from €50"; `null` without one. */
  terms: string | null
}>

/** `merchant` and `aliases`: names in catalogs of one shop. */
export type ShopEntry = Readonly<{ merchant: string; aliases: readonly string[]; shop: Shop }>

/** Names, logos and terms of shops. They never change the order of offers. */
export type ShopBook = ReturnType<typeof createShopBook>

/** Create the book. A merchant name, ignoring case, may belong to one entry only; the caller has checked this. */
export function createShopBook(entries: readonly ShopEntry[]) {
  const entriesByName = new Map<
    string,
    Readonly<{ merchant: string; names: readonly string[]; shop: Shop }>
  >()
  const keys = new Map<string, string>()
  for (const { merchant, aliases, shop } of entries) {
    const key = foldCase(merchant)
    const names = [key, ...aliases.map(foldCase)]
    for (const name of names) {
      entriesByName.set(name, { merchant, names, shop })
      keys.set(name, key)
    }
  }
  const entriesByShownName = new Map(
    [...entriesByName.values()].map((entry) => [foldCase(entry.shop.name), entry]),
  )
  return {
    /** Find the shop of a merchant name. */
    find: (merchant: string): Shop | undefined => entriesByName.get(foldCase(merchant))?.shop,
    /** Return the name of a merchant that readers see. */
    toShownName: (merchant: string): string => entriesByName.get(foldCase(merchant))?.shop.name ?? merchant,
    /** Return the same merchant name for all merchant names of one shop. It does not change with the shown name. */
    toMainName: (merchant: string): string => entriesByName.get(foldCase(merchant))?.merchant ?? merchant,
    /** The keys of `toKey` by case-folded merchant name, for shops of the book. */
    keys: keys as ReadonlyMap<string, string>,
    /** Return a key that is equal for the merchant names of one shop. */
    toKey(merchant: string): string {
      const name = foldCase(merchant)
      return keys.get(name) ?? name
    },
    /** Add to case-folded names of merchants or shops all case-folded merchant names of these shops. */
    expandNames: (names: readonly string[]): readonly string[] => [
      ...new Set(
        names.flatMap((name) => [
          name,
          ...((entriesByName.get(name) ?? entriesByShownName.get(name))?.names ?? []),
        ]),
      ),
    ],
  }
}
