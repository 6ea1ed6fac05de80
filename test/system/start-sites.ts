import { execFile } from 'node:child_process'
import { readFile, readdir } from 'node:fs/promises'
import { delimiter, extname, join } from 'node:path'
import { promisify } from 'node:util'
import { PACKAGE_FOLDER } from '../../src/lib/files.ts'
import { type PageServer, startPageServer, toHtmlResponse } from '../helpers/page-server.ts'
import { WATCH_MOVES } from './engines/moves.ts'
import { getShared } from './shared.ts'

const EMBED_FOLDER = join(PACKAGE_FOLDER, 'packages/embed')

/** Commands that build each project in packages/embed/fixtures. */
const BUILDS = {
  react:
    'vite build --mode development && vite build --mode development --ssr src/server.tsx --outDir dist/server && node prerender.mjs',
  vue: 'vite build && vite build --ssr src/server.js --outDir dist/server && node prerender.mjs',
  astro: 'astro build',
} as const
export const FRAMEWORKS = ['react', 'vue', 'astro'] as const

/**
 * Origins of the built sites. `/` has a box, a round-up and a grid of the shared server, and `/without-script` shows it in a frame that
 * may run no script.
 */
export type Sites = Readonly<Record<(typeof FRAMEWORKS)[number], string>>

/** Script for a page: collects what its author would see in the console, and the last height that each frame has sent. */
const WATCH_PAGE = `<script>
problems = []
heights = new Map()
console.error = console.warn = (...all) => problems.push(all.join(' '))
addEventListener('error', ({ message }) => problems.push(message))
addEventListener('unhandledrejection', ({ reason }) => problems.push(String(reason)))
addEventListener('message', ({ source, data }) => { if (data?.type === 'height') heights.set(source, data.heightPx) })
</script>`

/** Build the projects of all frameworks for the shared server, and serve each as a site. */
export async function startSites(): Promise<Readonly<{ address: Sites; stop(): Promise<void> }>> {
  const { box, publicUrl } = await getShared('server')
  const [channel = ''] = /[\da-f-]{36}/.exec(box) ?? []
  const settings = { VITRINE_SERVER: publicUrl, VITRINE_CHANNEL: channel, ASTRO_TELEMETRY_DISABLED: '1' }
  const servers: PageServer[] = []
  for (const name of FRAMEWORKS) {
    const cwd = join(EMBED_FOLDER, 'fixtures', name)
    // oxlint-disable-next-line node/no-process-env -- where the machine has programs, not a setting
    const path = [join(EMBED_FOLDER, 'node_modules/.bin'), process.env['PATH']].join(delimiter)
    await promisify(execFile)('sh', ['-c', BUILDS[name]], { cwd, env: { PATH: path, ...settings } })
    servers.push(await serve(join(cwd, 'dist/client')))
  }
  return {
    address: Object.fromEntries(FRAMEWORKS.map((name, index) => [name, servers[index]?.origin])) as Sites,
    stop: async () => void (await Promise.all(servers.map((server) => server.close()))),
  }
}

async function serve(folder: string): Promise<PageServer> {
  const server = await startPageServer()
  const files = await readdir(folder, { recursive: true })
  for (const file of files.filter((path) => ['.html', '.js', '.css'].includes(extname(path)))) {
    const content = await readFile(join(folder, file), 'utf8')
    const type = extname(file) === '.css' ? 'text/css' : 'text/javascript'
    const response = file.endsWith('.html')
      ? toHtmlResponse(content.replace('<head>', `<head>${WATCH_PAGE}${WATCH_MOVES}`))
      : { type, body: content }
    server.responses.set(`/${file.replace(/\/?index\.html$/, '')}`, response)
  }
  server.responses.set(
    '/without-script',
    toHtmlResponse('<iframe sandbox="allow-same-origin" src="/" width="700" height="2000"></iframe>'),
  )
  return server
}
