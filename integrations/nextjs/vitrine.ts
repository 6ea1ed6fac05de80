/**
 * Boxes and grids of a Vitrine server in Next.js or another program on Node 20 or later. One file without dependencies.
 *
 * - It never throws, and a request takes one second at most.
 * - Concurrent calls for the same box share one request.
 * - While the server fails, it returns the last good box from memory and sends no requests to the server for a while.
 */

/** Pause after a failure of the server. */
const PAUSE_MS = 10_000

/** Pause for an address without a box, because the address is wrong or the server has no data. */
const RETRY_MS = 5000

/** One deadline over connection, headers and body. */
const TIMEOUT_MS = 1000

/** A larger response is not a box. */
const MAX_BYTES = 1_048_576

/** Limit of the cache; the box with the oldest response is removed first. */
const MAX_BOXES = 2000

type Box = Readonly<{ html: string; freshUntilMs: number; keepUntilMs: number }>

const boxes = new Map<string, Box>()
const retries = new Map<string, number>()
const pauses = new Map<string, number>()
const requests = new Map<string, Promise<void>>()

/** Return the HTML of a box or grid, or an empty string when there is nothing to show. `url` is the address of a fragment. */
export async function getVitrineBox(url: string): Promise<string> {
  const origin = readOrigin(url)
  if (origin === undefined) return ''
  if (Date.now() >= findWaitUntilMs(url, origin)) {
    const request = requests.get(url) ?? refresh(url, origin)
    requests.set(url, request)
    await request
  }
  const box = boxes.get(url)
  return box !== undefined && Date.now() < box.keepUntilMs ? box.html : ''
}

/** Not `URL.canParse`: once compiled, in Node 20 and 22 it rejects hosts such as "preise.münchen.example". */
function readOrigin(url: string): string | undefined {
  try {
    return new URL(url).origin
  } catch {
    return undefined
  }
}

/** Return the time until which no request is sent for a box, in Unix milliseconds. */
function findWaitUntilMs(url: string, origin: string): number {
  return Math.max(boxes.get(url)?.freshUntilMs ?? 0, retries.get(url) ?? 0, pauses.get(origin) ?? 0)
}

async function refresh(url: string, origin: string): Promise<void> {
  // After a pause, the first request tries the server; a new pause applies to the others until it succeeds.
  if (pauses.has(origin)) pauses.set(origin, Date.now() + PAUSE_MS)
  try {
    const response = await globalThis.fetch(url, {
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (response.status >= 500) throw new Error(`status ${response.status}`)
    const html = await readText(response)
    pauses.delete(origin)
    const control = response.headers.get('cache-control') ?? ''
    const isBox =
      response.status === 200 && !control.includes('no-store') && (html === '' || html.startsWith('<'))
    if (isBox) storeBox(url, html, control)
    else setPause(retries, url, RETRY_MS)
  } catch {
    setPause(pauses, origin, PAUSE_MS)
  } finally {
    requests.delete(url)
  }
}

/** Read a body as UTF-8. Throws if it is larger than a box; the rest of it is cancelled. */
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

function storeBox(url: string, html: string, control: string): void {
  const freshUntilMs = Date.now() + 1000 * readSeconds(control, 'max-age', 60)
  const keepUntilMs = freshUntilMs + 1000 * readSeconds(control, 'stale-if-error', 86_400)
  retries.delete(url)
  boxes.delete(url)
  boxes.set(url, { html, freshUntilMs, keepUntilMs })
  dropOldest(boxes)
}

function setPause(pausedUntil: Map<string, number>, key: string, durationMs: number): void {
  pausedUntil.delete(key)
  pausedUntil.set(key, Date.now() + durationMs)
  dropOldest(pausedUntil)
}

function dropOldest(entries: Map<string, unknown>): void {
  const [oldest] = entries.keys()
  if (entries.size > MAX_BOXES && oldest !== undefined) entries.delete(oldest)
}

function readSeconds(control: string, name: string, defaultSeconds: number): number {
  return Number(new RegExp(`${name}=(\\d+)`).exec(control)?.[1] ?? defaultSeconds)
}
