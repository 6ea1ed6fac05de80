import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'

/** The address that the sample server prints in its widgets. `capture` turns it into addresses of the site. */
const PUBLIC_URL = 'https://widgets.example'

const MAX_ATTEMPTS = 20
const RETRY_DELAY_MS = 500

/** All addresses of the server in `src`, `href` and `srcset`. */
const SERVER_ADDRESS = /https:\/\/widgets\.example(\/[^\s",<>]*)/g

/**
 * Start the built server with its sample data and a fixed clock. `fetchPath` returns the response, `fetchShown` the HTML; `capture` returns the HTML with
 * addresses of the site, and adds the files it needs to `files` (address in the site -> content).
 */
export async function startSampleServer(rootFolder) {
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-site-'))
  const port = await findFreePort()
  const clock = new URL('../fixed-clock.mjs', import.meta.url).href
  const child = spawn(
    process.execPath,
    ['--import', clock, join(rootFolder, 'dist/main.js'), 'serve', '--json'],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        VITRINE_PORT: String(port),
        VITRINE_PUBLIC_URL: PUBLIC_URL,
        VITRINE_LOG_LEVEL: 'error',
        VITRINE_DATABASE_URL: `sqlite:${join(folder, 'copy.db')}`,
        VITRINE_CATALOG_DATABASE_URL: `sqlite:${join(folder, 'catalog.db')}`,
      },
    },
  )
  const ended = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGINT')
    await ended
    await rm(folder, { recursive: true, force: true })
  }
  const isReady = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line').then(() => true),
    ended.then(() => false),
  ])
  if (!isReady) {
    await rm(folder, { recursive: true, force: true })
    throw new Error('the sample server exited before it listened')
  }
  const fetchPath = async (path) => fetch(`http://127.0.0.1:${port}${path}`)
  return {
    fetchPath,
    fetchShown: async (path) => fetchShown(path, fetchPath),
    stop,
    ...createCapture(fetchPath),
  }
}

async function findFreePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

function createCapture(fetchPath) {
  const files = new Map()
  const addFile = async (path) => {
    const address = `widget${path}`
    if (!files.has(address)) {
      const response = await fetchPath(path)
      if (!response.ok) throw new Error(`the sample server responded with ${response.status} to ${path}`)
      files.set(address, Buffer.from(await response.arrayBuffer()))
    }
    return `/${address}`
  }
  const capture = async (path) => {
    const html = await fetchShown(path, fetchPath)
    const addresses = new Map()
    for (const [address, serverPath] of html.matchAll(SERVER_ADDRESS))
      addresses.set(address, await toSiteAddress(serverPath, addFile))
    return html.replaceAll(SERVER_ADDRESS, (address) => addresses.get(address))
  }
  return { files, capture, addFile }
}

/** Fetch a page or fragment. An empty one can be late on a busy machine: request it again. */
async function fetchShown(path, fetchPath) {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const response = await fetchPath(path)
    const html = await response.text()
    if (!response.ok)
      throw new Error(`the sample server responded with ${response.status} to ${path}: ${html}`)
    if (html !== '') return html
    await setTimeout(RETRY_DELAY_MS)
  }
  throw new Error(`the sample server shows nothing for ${path}`)
}

/** Sample links lead to a page of the site, because their shops do not exist. */
async function toSiteAddress(path, addFile) {
  if (path.startsWith('/demo/shop')) return '/sample-shop.html'
  if (/^\/(?:assets|accents|demo\/pictures|studio\/gallery\/(?:pictures|logos))\//.test(path))
    return addFile(path)
  if (path.startsWith('/studio')) return '#'
  throw new Error(`a widget of the sample server has an unexpected address: ${path}`)
}
