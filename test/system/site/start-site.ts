import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'

/** A built documentation site. `url` ends with the path that a static host adds; `version` is the folder of the version. */
export type BuiltSite = Readonly<{ folder: string; url: string; version: string }>

/** The site's address that the build is told. */
export const SITE_URL = 'https://docs.example/vitrine'

const BASE_PATH = '/vitrine/'

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
  '.png': 'image/png',
}

/** Build the site beside an older version, and serve it below a path. */
export async function startSite(): Promise<Readonly<{ address: BuiltSite; stop(): Promise<void> }>> {
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-site-'))
  await mkdir(join(folder, '0.0'))
  await writeFile(join(folder, '0.0/index.html'), '<!doctype html><title>0.0</title>')
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(PACKAGE_FOLDER, 'site/build.mjs'), '--out', folder],
    // HOME: git reads there which folders of other owners it trusts.
    { cwd: PACKAGE_FOLDER, env: { SITE_URL, TMPDIR: tmpdir(), HOME: homedir() } },
  )
  const version = stdout.trim().split('/').at(-1) ?? ''
  const server = createServer((request, response) => void respond(folder, request, response))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    address: { folder, url: `http://127.0.0.1:${port}${BASE_PATH}`, version },
    async stop() {
      server.close()
      server.closeAllConnections()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Respond as a static host does: files, `index.html` for folders, and 404.html. */
async function respond(folder: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? '', 'http://localhost')
  const path = decodeURIComponent(pathname)
    .replace(BASE_PATH, '')
    .replace(/(^|\/)$/, '$1index.html')
  const content = await readFile(join(folder, path)).catch(() => null)
  response.writeHead(content === null ? 404 : 200, {
    'content-type': content === null ? 'text/html' : (CONTENT_TYPES[extname(path)] ?? 'text/plain'),
  })
  response.end(content ?? (await readFile(join(folder, '404.html'))))
}
