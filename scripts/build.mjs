/**
 * `npm run build`: compile the server to dist/ and the browser assets to public/built/. Each file is written to a temporary
 * name and renamed, so that parallel builds and a running server never see part of a file. `--page` builds only the assets.
 */
import { spawn } from 'node:child_process'
import { chmod, cp, readFile, readdir, rm } from 'node:fs/promises'
import { dirname, extname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildPage } from './build-page.mjs'
import { bundlePackages } from './bundle-packages.mjs'
import { replaceFile } from './replace-file.mjs'

const ROOT_FOLDER = fileURLToPath(new URL('..', import.meta.url))
const DIST_FOLDER = join(ROOT_FOLDER, 'dist')

async function buildServer() {
  // Inside dist/, which all other tools ignore.
  const folder = join(DIST_FOLDER, `.build-${process.pid}`)
  try {
    await compile(folder)
    await copyData(folder)
    await bundlePackages(folder, ROOT_FOLDER)
    const files = await listFiles(folder)
    await Promise.all(files.map(async (file) => moveFile(folder, file)))
    await removeOthers(new Set(files))
    for (const file of ['bin.js', 'main.js']) await chmod(join(DIST_FOLDER, file), 0o755).catch(ignoreMissing)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function compile(folder) {
  const tsc = join(ROOT_FOLDER, 'node_modules/typescript/bin/tsc')
  const parameters = [tsc, '-p', 'tsconfig.build.json', '--outDir', folder, '--pretty', 'false']
  const child = spawn(process.execPath, parameters, { cwd: ROOT_FOLDER, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = []
  child.stdout.on('data', (chunk) => output.push(chunk))
  child.stderr.on('data', (chunk) => output.push(chunk))
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (code !== 0) throw new Error(`the server does not compile:\n${Buffer.concat(output).toString().trim()}`)
}

/** Copy the data files that the code reads from its own folder. */
async function copyData(folder) {
  await cp(join(ROOT_FOLDER, 'src'), folder, {
    recursive: true,
    filter: (path) => ['', '.json', '.svg', '.webp'].includes(extname(path)),
  })
  // npm leaves it out of the root of a package.
  await cp(join(ROOT_FOLDER, 'package-lock.json'), join(folder, 'package-lock.json'))
  // A file of types only is its own declaration.
  await cp(join(ROOT_FOLDER, 'src/widgets/json-types.ts'), join(folder, 'widgets/json-types.d.ts'))
}

async function moveFile(folder, file) {
  const from = join(folder, file)
  const content = await readFile(from)
  // The compiler output is one folder deeper than the final file.
  const moved = file.endsWith('.map') ? content.toString().replaceAll('"../', '"') : content
  await replaceFile(join(DIST_FOLDER, file), moved)
}

/** Delete output of removed sources. */
async function removeOthers(files) {
  const present = await listFiles(DIST_FOLDER)
  const others = present.filter(
    (file) => !files.has(file) && !file.startsWith('.build-') && !file.endsWith('.tmp'),
  )
  await Promise.all(others.map(async (file) => rm(join(DIST_FOLDER, file), { force: true })))
}

async function listFiles(folder) {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(ignoreMissing)
  return (entries ?? [])
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath ?? dirname(entry.path), entry.name)))
}

function ignoreMissing(error) {
  if (error.code !== 'ENOENT') throw error
}

try {
  await Promise.all([buildPage(), ...(process.argv.includes('--page') ? [] : [buildServer()])])
} catch (error) {
  process.stderr.write(`build failed: ${error.message}\n`)
  process.exitCode = 1
}
