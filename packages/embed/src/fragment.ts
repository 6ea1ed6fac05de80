import type { ElementAttributes } from './attributes.ts'
import { KINDS, toServerAddress } from './kinds.ts'

/** How long a page waits for its content. */
const TIMEOUT_MS = 1_000

/**
 * Fetch the HTML of a widget as the content of its element, on a server or while a site is built. Return an empty text if there is
 * nothing to show, or if the Vitrine server fails or does not respond within a second: it never throws.
 */
export async function fetchFragment<Name extends keyof ElementAttributes>(
  name: Name,
  attributes: ElementAttributes[Name],
): Promise<string> {
  const values: Readonly<Record<string, string | number | undefined>> = {
    ...attributes,
    vitrine: KINDS[name],
  }
  const read = (option: string): string | null => values[option]?.toString() ?? null
  try {
    const address = toServerAddress('fragments', read)
    if (address === undefined) return ''
    const response = await fetch(address, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    return response.ok ? await response.text() : ''
  } catch {
    return ''
  }
}
