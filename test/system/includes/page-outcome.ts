import { ERROR_PAGE } from './fault-proxy.ts'

/** What a reader sees of a page, in the terms of the tables in bench/results/includes.md. */
export type PageOutcome = 'box' | 'nothing' | 'error text' | 'garbage' | 'waits' | 'page cut' | 'no page'

/** How long a page must wait for a hanging server to count as `waits`. */
export const READER_WAIT_MS = 3000

/** Timeout of a page, generous because builds are slow on a busy machine. */
export const PAGE_TIMEOUT_MS = 20_000

/** Time after the server begins to hang in which other pages must appear; the timeouts of the recipes are one or two seconds. */
export const HANG_TIMEOUT_MS = 8000

/** Build the page of a publisher around an include. */
export function toHostPage(include: string): string {
  return `<!doctype html>\n<html lang="en"><head><title>host</title></head><body><p>HOST-HEAD</p>\n<aside>BOX(${include})BOX</aside>\n<p>HOST-FOOT</p></body></html>\n`
}

/** Fetch a page over a persistent connection, like a browser, and classify it. */
export async function fetchOutcome(
  url: string,
  headers: Readonly<Record<string, string>> = {},
  signal: AbortSignal = AbortSignal.timeout(PAGE_TIMEOUT_MS),
): Promise<PageOutcome> {
  try {
    const response = await fetch(url, { headers, signal })
    const page = Buffer.from(await response.arrayBuffer())
    return response.status === 200 ? classifyPage(page) : 'no page'
  } catch (error) {
    return error instanceof Error && error.name === 'TimeoutError' ? 'waits' : 'page cut'
  }
}

export function classifyPage(page: Buffer): PageOutcome {
  const text = page.toString('utf8')
  if (!text.includes('HOST-HEAD') || !text.includes('HOST-FOOT')) return 'page cut'
  const start = text.indexOf('BOX(') + 'BOX('.length
  return classifyBox(text.slice(start, text.lastIndexOf(')BOX')))
}

export function classifyBox(html: string): PageOutcome {
  // oxlint-disable-next-line no-control-regex -- control characters reveal compressed bytes
  if (/[\u0000-\u0008\u000E-\u001F\uFFFD]/.test(html)) return 'garbage'
  const visible = html.replaceAll(/<!--[\s\S]*?-->/g, '').trim()
  if (visible === '') return 'nothing'
  const isWhole = visible.startsWith('<section class="vitrine ') && visible.endsWith('</section>')
  return isWhole && !visible.includes(ERROR_PAGE) ? 'box' : 'error text'
}
