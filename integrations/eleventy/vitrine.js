/**
 * Boxes and grids of a Vitrine server in an Eleventy site: one file, Node 20 or later, nothing to install.
 *
 * What is certain: a build never fails for a box; a second at most for each, and after a server failed nothing more of it
 * in this build; the last good box, from a folder that outlives the build, while the server fails.
 */
import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** One deadline over connection, headers and body. */
const TIMEOUT_MS = 1000

/** Adds the shortcode `vitrine`. `folder` is where boxes are kept from build to build. */
export function vitrinePlugin(eleventyConfig, { folder = '.cache/vitrine' } = {}) {
  let answers = new Map()
  let failed = new Set()
  eleventyConfig.on('eleventy.before', () => {
    answers = new Map()
    failed = new Set()
  })
  eleventyConfig.addAsyncShortcode('vitrine', (url) => {
    const answer = answers.get(url) ?? getBox(url, { folder, failed })
    answers.set(url, answer)
    return answer
  })
}

/** HTML of a box or grid, or an empty string. */
async function getBox(url, { folder, failed }) {
  const file = join(folder, `${createHash('sha256').update(String(url)).digest('hex')}.json`)
  const kept = await readBox(file)
  if (Date.now() < kept.freshUntilMs) return kept.html
  const box = await fetchBox(url, failed)
  if (box === undefined) return Date.now() < kept.keepUntilMs ? kept.html : ''
  await writeBox({ folder, file, box })
  return box.html
}

/** Nothing when there is no answer, or one that is no box: what is kept stays. */
async function fetchBox(url, failed) {
  const origin = readOrigin(url)
  if (origin === undefined || failed.has(origin)) return undefined
  try {
    const response = await globalThis.fetch(url, {
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (response.status >= 500) throw new Error(`status ${response.status}`)
    return toBox(response, await response.text())
  } catch (error) {
    failed.add(origin)
    console.warn(`vitrine: ${url}: ${error.message}; its boxes are as they were at the last build`)
    return undefined
  }
}

// Not by URL.canParse, which in Node 20 and 22 refuses hosts such as "preise.münchen.example" once it is compiled.
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

function readSeconds(control, name, otherwise) {
  return Number(new RegExp(`${name}=(\\d+)`).exec(control)?.[1] ?? otherwise)
}

async function readBox(file) {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch {
    return { html: '', freshUntilMs: 0, keepUntilMs: 0 }
  }
}

/** Two builds at once see the old file or the new one, never a part. A folder that cannot be written keeps nothing. */
async function writeBox({ folder, file, box }) {
  try {
    await mkdir(folder, { recursive: true })
    const whole = `${file}.${process.pid}`
    await writeFile(whole, JSON.stringify(box))
    await rename(whole, file)
  } catch (error) {
    console.warn(`vitrine: ${error.message}: the box is not kept`)
  }
}
