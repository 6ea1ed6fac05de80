/** Parse a URL, absolute or relative to `base`, or return `undefined`. (`URL.canParse` of Node 20 and 22 rejects "ü" in hosts once optimized.) */
export function parseUrl(address: string, base?: URL): URL | undefined {
  try {
    return new URL(address, base)
  } catch {
    return undefined
  }
}
