import { chmod, readFile, readdir, rm } from 'node:fs/promises'
import { basename, extname, join, relative, resolve, sep } from 'node:path'
import { build, transform } from 'esbuild'
import { listFiles } from './build-stamp.mjs'
import { replaceFile } from './replace-file.mjs'

/**
 * Packages that consist of many files, and development packages. Loading hundreds of files is most of the cost of a start, and
 * each worker and thread pays it again; see docs/contribute/notes/dependencies.md. Other packages are installed with the server.
 */
const BUNDLED = /^(?:express|kysely|prom-client|undici|zod|@opentelemetry\/.+)$/

const TARGET = { platform: 'node', format: 'esm', target: 'node20' }

/** `require` for CommonJS packages. */
const REQUIRE =
  "import { createRequire as toRequire } from 'node:module'; const require = toRequire(import.meta.url);"

/** Own modules stay single files, because they have state and read data beside them. */
const ownModules = {
  name: 'own-modules',
  setup: ({ onResolve }) =>
    onResolve({ filter: /./ }, ({ kind, importer, path }) => {
      if (kind === 'entry-point' || importer.includes('node_modules')) return undefined
      if (path.startsWith('.')) return { path: path.replace(/\.ts$/, '.js'), external: true }
      return BUNDLED.test(path) ? undefined : { path, external: true }
    }),
}

/**
 * What Express loads for functions that this server does not use: bodies of requests, with tables of character sets, and types by
 * file extension. They are three quarters of its code. A redirect needs the two types between which it chooses.
 */
const UNUSED = /^(?:body-parser|mime-db)$/
const MIME_TYPES = { 'text/html': { extensions: ['html'] }, 'text/plain': { extensions: ['txt', 'text'] } }

/** Replace unused packages by nearly empty ones. */
const unusedPackages = {
  name: 'unused-packages',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: UNUSED }, ({ path }) => ({ path, namespace: 'unused' }))
    onLoad({ filter: /./, namespace: 'unused' }, ({ path }) => ({
      contents: `module.exports = ${JSON.stringify(path === 'mime-db' ? MIME_TYPES : {})}`,
    }))
  },
}

/**
 * Compile the server to `dist/`, with the bundled packages in files that its modules share. Return the content of each file by
 * its path in `dist/`. Other files are deleted: the output of removed sources.
 */
export async function buildServer(rootFolder) {
  const distFolder = join(rootFolder, 'dist')
  const sources = await listFiles(join(rootFolder, 'src'))
  const { outputFiles, metafile } = await build({
    ...TARGET,
    absWorkingDir: rootFolder,
    entryPoints: sources.filter(isServer).map((file) => join('src', file)),
    outbase: 'src',
    outdir: 'dist',
    chunkNames: 'packages/[name]-[hash]',
    bundle: true,
    splitting: true,
    mainFields: ['module', 'main'],
    sourcemap: true,
    legalComments: 'eof',
    logLevel: 'silent',
    metafile: true,
    write: false,
    plugins: [unusedPackages, ownModules],
  })
  const files = new Map(outputFiles.map(({ path, contents }) => [relative(distFolder, path), contents]))
  for (const [path, { entryPoint, inputs }] of Object.entries(metafile.outputs)) {
    // Without an entry point: shared by modules, with code of packages or of esbuild.
    const isShared =
      entryPoint === undefined || Object.keys(inputs).some((input) => input.includes('node_modules/'))
    if (isShared && path.endsWith('.js')) await addRequire(files, relative('dist', path))
  }
  files.set(join('packages', 'LICENSES.txt'), await collectLicences(Object.keys(metafile.inputs), rootFolder))
  await addData(files, sources, rootFolder)
  await Promise.all([...files].map(async ([file, content]) => replaceFile(join(distFolder, file), content)))
  for (const file of ['bin.js', 'main.js']) await chmod(join(distFolder, file), 0o755)
  const others = (await listFiles(distFolder)).filter(
    (file) => !files.has(file) && !/^\.|\.tmp$/.test(basename(file)),
  )
  await Promise.all(others.map(async (file) => rm(join(distFolder, file), { force: true })))
  return files
}

const isServer = (file) => file.endsWith('.ts') && !file.startsWith(`browser${sep}`)

/** Minify a file with code of packages, which has no use for a source map. */
async function addRequire(files, file) {
  const { code } = await transform(Buffer.from(files.get(file)).toString(), {
    ...TARGET,
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'eof',
    banner: REQUIRE,
  })
  files.set(file, code)
  files.delete(`${file}.map`)
}

/** Add the data files that the code reads from its own folder. */
async function addData(files, sources, rootFolder) {
  const read = async (path) => readFile(join(rootFolder, path))
  for (const file of sources.filter((path) => ['.json', '.svg', '.webp'].includes(extname(path))))
    files.set(file, await read(join('src', file)))
  // npm leaves it out of the root of a package.
  files.set('package-lock.json', await read('package-lock.json'))
  // A file of types only is its own declaration.
  files.set(join('widgets', 'json-types.d.ts'), await read('src/widgets/json-types.ts'))
}

/** Collect the licences of all bundled packages. */
async function collectLicences(inputs, rootFolder) {
  const found = inputs.flatMap((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [])
  const texts = [...new Set(found)]
    .toSorted((a, b) => a.localeCompare(b))
    .map(async (path) => {
      const folder = resolve(rootFolder, path)
      const { name, version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
      const names = (await readdir(folder)).filter((file) => /^(?:licen[cs]e|notice)/i.test(file))
      const licences = await Promise.all(names.map((file) => readFile(join(folder, file), 'utf8')))
      return [`${name} ${version} (${license})`, ...licences].join('\n\n')
    })
  return (await Promise.all(texts)).join(`\n\n${'-'.repeat(80)}\n\n`)
}
