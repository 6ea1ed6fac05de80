/** `npm run build` in this folder, with the compilers of the repository: bundle the package to dist/, with its types. */
import { execFileSync } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const FOLDER = fileURLToPath(new URL('.', import.meta.url))

const OPTIONS = {
  absWorkingDir: FOLDER,
  outdir: 'dist',
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  charset: 'utf8',
  legalComments: 'none',
}

await rm(join(FOLDER, 'dist'), { recursive: true, force: true })
const typescript = dirname(createRequire(import.meta.url).resolve('typescript/package.json'))
execFileSync(process.execPath, [join(typescript, 'bin/tsc'), '-p', FOLDER], { stdio: 'inherit' })
await build({ ...OPTIONS, entryPoints: ['src/index.ts', 'src/fragment.ts'] })
// The components import the elements of index.js, so that they exist once.
await build({
  ...OPTIONS,
  entryPoints: ['src/react.ts', 'src/vue.ts'],
  external: ['./index.js'],
  packages: 'external',
})
