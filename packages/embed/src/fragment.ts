import { toAddress } from '../../../src/browser/address.ts'
import type { ElementAttributes } from './attributes.ts'
import { KINDS } from './kinds.ts'

/** How long a page waits for its content. */
const TIMEOUT_MS = 1_000

/** A larger response is not a box. */
const MAX_BYTES = 1_048_576

/**
 * Fetch the HTML of a widget as the content of its element, on a server or while a site is built. Return an empty text if there is
 * nothing to show, or if the Vitrine server fails, does not respond within a second or sends over 1 MiB: it never throws.
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
    const address = toAddress('fragments', read)
    if (address === undefined) return ''
    const response = await fetch(address, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    return response.ok ? await readText(response) : ''
  } catch {
    return ''
  }
}

/** Read a body as UTF-8. @throws if it is larger than a box; the rest of it is cancelled */
async function readText({ body }: Response): Promise<string> {
  const decoder = new TextDecoder()
  let [text, sizeBytes] = ['', 0]
  for await (const part of body ?? []) {
    sizeBytes += part.byteLength
    if (sizeBytes > MAX_BYTES) throw new Error('the response is too large')
    text += decoder.decode(part, { stream: true })
  }
  return text + decoder.decode()
}
