/**
 * Boxes and grids of a Vitrine server in an Eleventy site. One file for Node 20 or later, without dependencies.
 *
 * - A box never fails the build.
 * - A request takes one second at most. After a failure, the build sends no further requests to that server.
 * - While the server fails, the build uses the last good box from the cache folder.
 */
import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** One deadline over connection, headers and body. */
const TIMEOUT_MS = 1000

/** A larger response is not a box. */
const MAX_BYTES = 1_048_576

/** Add the shortcode `vitrine`. `folder` caches boxes between builds. */
export function vitrinePlugin(eleventyConfig, { folder = '.cache/vitrine' } = {}) {
  let boxes = new Map()
  let failedOrigins = new Set()
  eleventyConfig.on('eleventy.before', () => {
    boxes = new Map()
    failedOrigins = new Set()
  })
  eleventyConfig.addAsyncShortcode('vitrine', (url) => {
    const box = boxes.get(url) ?? getBox(url, { folder, failedOrigins })
    boxes.set(url, box)
    return box
  })
}

/** Return the HTML of a box or grid, or an empty string. */
async function getBox(url, { folder, failedOrigins }) {
  const file = join(folder, `${createHash('sha256').update(String(url)).digest('hex')}.json`)
  const cached = await readBox(file)
  if (Date.now() < cached.freshUntilMs) return cached.html
  const box = await fetchBox(url, failedOrigins)
  if (box === undefined) return Date.now() < cached.keepUntilMs ? cached.html : ''
  await writeBox({ folder, file, box })
  return box.html
}

/** Return `undefined` without a valid response; the cached box then stays. */
async function fetchBox(url, failedOrigins) {
  const origin = readOrigin(url)
  if (origin === undefined || failedOrigins.has(origin)) return undefined
  try {
    const response = await globalThis.fetch(url, {
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (response.status >= 500) throw new Error(`status ${response.status}`)
    return toBox(response, await readText(response))
  } catch (error) {
    failedOrigins.add(origin)
    console.warn(
      `vitrine: cannot fetch ${url}: ${error.message}. Boxes of this server stay as in the last build.`,
    )
    return undefined
  }
}

/** Read a body as UTF-8. Throws if it is larger than a box; the rest of it is cancelled. */
async function readText({ body }) {
  const decoder = new TextDecoder()
  let [text, sizeBytes] = ['', 0]
  for await (const part of body ?? []) {
    sizeBytes += part.byteLength
    if (sizeBytes > MAX_BYTES) throw new Error('the response is too large')
    text += decoder.decode(part, { stream: true })
  }
  return text + decoder.decode()
}

// Not URL.canParse: once compiled, in Node 20 and 22 it rejects hosts such as "preise.münchen.example".
function readOrigin(url) {
  try {
    return new URL(url).origin
  } catch {
    return undefined
  }
}

function toBox({ status, headers }, html) {
  const control = headers.get('cache-control') ?? ''
  if (status !== 200 || control.includes('no-store') || (html !== '' && !html.startsWith('<')))
    return undefined
  const freshUntilMs = Date.now() + 1000 * readSeconds(control, 'max-age', 60)
  return {
    html,
    freshUntilMs,
    keepUntilMs: freshUntilMs + 1000 * readSeconds(control, 'stale-if-error', 86_400),
  }
}

function readSeconds(control, name, defaultSeconds) {
  return Number(new RegExp(`${name}=(\\d+)`).exec(control)?.[1] ?? defaultSeconds)
}

async function readBox(file) {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch {
    return { html: '', freshUntilMs: 0, keepUntilMs: 0 }
  }
}

/** Write by renaming, so that concurrent builds never read a partial file. A folder without write access caches nothing. */
async function writeBox({ folder, file, box }) {
  try {
    await mkdir(folder, { recursive: true })
    const temporary = `${file}.${process.pid}`
    await writeFile(temporary, JSON.stringify(box))
    await rename(temporary, file)
  } catch (error) {
    console.warn(`vitrine: cannot store the box: ${error.message}`)
  }
}
