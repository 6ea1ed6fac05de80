/**
 * `npm run build`: compile the server to dist/ and the browser assets to public/built/, if something has changed. Each file is
 * written to a temporary name and renamed, so that parallel builds and a running server never see part of a file. `--page`
 * builds only the assets.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildIfChanged } from './build-stamp.mjs'

const ROOT_FOLDER = fileURLToPath(new URL('..', import.meta.url))
const DIST_FOLDER = join(ROOT_FOLDER, 'dist')

/** What both builds read. The last one lists the installed packages. */
const INPUTS = [
  'src',
  'scripts',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'node_modules/.package-lock.json',
]

const buildPage = async () =>
  buildIfChanged(join(DIST_FOLDER, '.page-stamp'), {
    rootFolder: ROOT_FOLDER,
    inputs: [...INPUTS, 'public/styles', 'public/released'],
    output: join(ROOT_FOLDER, 'public/built'),
    // Loading the compiler takes longer than the comparison.
    build: async () => (await import('./build-page.mjs')).buildPage(),
  })

const buildServer = async () =>
  buildIfChanged(join(DIST_FOLDER, '.server-stamp'), {
    rootFolder: ROOT_FOLDER,
    inputs: INPUTS,
    output: DIST_FOLDER,
    build: async () => (await import('./build-server.mjs')).buildServer(ROOT_FOLDER),
  })

try {
  await Promise.all([buildPage(), ...(process.argv.includes('--page') ? [] : [buildServer()])])
} catch (error) {
  const problems = (error.errors ?? []).map(
    ({ text, location }) => `  ${location ? `${location.file}:${location.line}: ` : ''}${text}`,
  )
  process.stderr.write(`build failed: ${problems.length > 0 ? `\n${problems.join('\n')}` : error.message}\n`)
  process.exitCode = 1
}
