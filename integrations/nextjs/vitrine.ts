/**
 * Boxes and grids of a Vitrine server in any program on Node 20 or later, a Next.js server among them: one file, nothing
 * to install.
 *
 * What is certain: it never throws; a second at most; the last good box, from memory, while the server fails; who asks for
 * the same box meanwhile shares one request; a server that fails is left alone for a while, whatever box is asked of it.
 */

/** A server that failed is asked again after this. */
const PAUSE_MS = 10_000

/** An address that got no box (a mistake in it, nothing kept at the server) is asked again after this. */
const RETRY_MS = 5000

/** One deadline over connection, headers and body. */
const TIMEOUT_MS = 1000

/** Boxes that are kept; the one that was fetched longest ago goes first. */
const MAX_BOXES = 2000

type Box = Readonly<{ html: string; freshUntilMs: number; keepUntilMs: number }>

const boxes = new Map<string, Box>()
const retries = new Map<string, number>()
const pauses = new Map<string, number>()
const flights = new Map<string, Promise<void>>()

/** HTML of a box or grid, or an empty string when there is nothing to show. `url` is the address of a fragment. */
export async function getVitrineBox(url: string): Promise<string> {
  const origin = readOrigin(url)
  if (origin === undefined) return ''
  if (Date.now() >= readWaitMs(url, origin)) {
    const flight = flights.get(url) ?? refresh(url, origin)
    flights.set(url, flight)
    await flight
  }
  const box = boxes.get(url)
  return box !== undefined && Date.now() < box.keepUntilMs ? box.html : ''
}

/** Not by `URL.canParse`, which in Node 20 and 22 refuses hosts such as "preise.münchen.example" once it is compiled. */
function readOrigin(url: string): string | undefined {
  try {
    return new URL(url).origin
  } catch {
    return undefined
  }
}

/** Until when the server is not asked for a box. */
function readWaitMs(url: string, origin: string): number {
  return Math.max(boxes.get(url)?.freshUntilMs ?? 0, retries.get(url) ?? 0, pauses.get(origin) ?? 0)
}

async function refresh(url: string, origin: string): Promise<void> {
  // After a pause one visitor tries, and the others go on waiting for what becomes of it.
  if (pauses.has(origin)) pauses.set(origin, Date.now() + PAUSE_MS)
  try {
    const response = await globalThis.fetch(url, {
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (response.status >= 500) throw new Error(`status ${response.status}`)
    const html = await response.text()
    pauses.delete(origin)
    const control = response.headers.get('cache-control') ?? ''
    const isBox =
      response.status === 200 && !control.includes('no-store') && (html === '' || html.startsWith('<'))
    if (isBox) keep(url, html, control)
    else remember(retries, url, RETRY_MS)
  } catch {
    remember(pauses, origin, PAUSE_MS)
  } finally {
    flights.delete(url)
  }
}

function keep(url: string, html: string, control: string): void {
  const freshUntilMs = Date.now() + 1000 * readSeconds(control, 'max-age', 60)
  const keepUntilMs = freshUntilMs + 1000 * readSeconds(control, 'stale-if-error', 86_400)
  retries.delete(url)
  boxes.delete(url)
  boxes.set(url, { html, freshUntilMs, keepUntilMs })
  dropOldest(boxes)
}

function remember(untils: Map<string, number>, key: string, durationMs: number): void {
  untils.delete(key)
  untils.set(key, Date.now() + durationMs)
  dropOldest(untils)
}

function dropOldest(entries: Map<string, unknown>): void {
  const [oldest] = entries.keys()
  if (entries.size > MAX_BOXES && oldest !== undefined) entries.delete(oldest)
}

function readSeconds(control: string, name: string, otherwise: number): number {
  return Number(new RegExp(`${name}=(\\d+)`).exec(control)?.[1] ?? otherwise)
}
