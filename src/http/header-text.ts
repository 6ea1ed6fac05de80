/** Longest text of ours in a header: proxies limit all headers together. */
const MAX_CHARACTERS = 500

/**
 * A text as the value of a header: printable ASCII and nothing else, since headers are written as single bytes and a name of a feed
 * or an address may hold any character. Accents go; what has no plain letter becomes a question mark.
 */
export function toHeaderText(text: string): string {
  const plain = text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[\u2018\u2019]/g, "'")
    .replace(/[^ -~]/gu, '?')
  return plain.length > MAX_CHARACTERS ? `${plain.slice(0, MAX_CHARACTERS - 3)}...` : plain
}
