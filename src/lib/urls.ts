/** Parse an absolute URL, or return `undefined`. (`URL.canParse` of Node 20 and 22 rejects "ü" in hosts once optimized.) */
export function parseUrl(address: string): URL | undefined {
  try {
    return new URL(address)
  } catch {
    return undefined
  }
}
