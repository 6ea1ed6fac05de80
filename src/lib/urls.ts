/**
 * Parse an absolute address by the URL standard; `undefined` when it is none. In place of `URL.canParse`, which in Node 20 and 22
 * refuses hosts with letters such as "ü" once it has been called some thousand times and is compiled.
 */
export function parseUrl(address: string): URL | undefined {
  try {
    return new URL(address)
  } catch {
    return undefined
  }
}
