/** What a tracking link is made of. */
export type LinkParts = Readonly<{
  /** The network's template with `{url}`, `{merchant}` and `{publisher}`. */
  template: string
  /** The merchant's own product page. */
  merchantUrl: string
  merchant: string
  /** What the network knows the publisher as. */
  publisher: string
}>

/** The network channel's tracking link; every part is percent-encoded, other braces stay as they are. */
export function makeAffiliateLink(parts: LinkParts): string {
  const values: Readonly<Record<string, string>> = {
    url: parts.merchantUrl,
    merchant: parts.merchant,
    publisher: parts.publisher,
  }
  return parts.template.replace(/\{(url|merchant|publisher)\}/g, (_, name: string) =>
    encodeURIComponent((values[name] ?? '').toWellFormed()),
  )
}
