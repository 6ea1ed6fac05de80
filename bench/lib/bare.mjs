import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fetchAnswer } from './vitrine.mjs'

/** Headers that Node writes by itself for every answer. */
const NODE_HEADERS = new Set(['date', 'connection', 'keep-alive'])

/**
 * The warm answer of an address, without what Node itself adds.
 * @param {string} url
 * @param {Record<string, string>} [asked] headers of the request
 */
export async function fetchWarmAnswer(url, asked = {}) {
  await fetchAnswer(url, asked)
  const { status, headers, bytes } = await fetchAnswer(url, asked)
  if (status !== 200 || headers['vitrine-state'] !== 'shown' || bytes.length === 0)
    throw new Error(`${url} answered ${status}, ${String(headers['vitrine-state'])}, ${bytes.length} bytes`)
  return { headers: dropNodeHeaders(headers), bytes }
}

/** What a peer has to write by itself. */
export function dropNodeHeaders(headers) {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !NODE_HEADERS.has(name)))
}

/** Writes an answer where peers read it. */
export function writeAnswer(run, name, { headers, bytes, view = null }) {
  const file = join(run.folder, `${name}.json`)
  writeFileSync(file, JSON.stringify({ headers, body: bytes.toString('base64'), view }))
  return file
}

/** Starts bare `node:http` with the bytes and headers of an answer. */
export async function startBare(run, name, answer) {
  const peer = await run.startPeer('node-http.mjs', [writeAnswer(run, name, answer)])
  return { ...peer, url: `${peer.origin}/box` }
}
