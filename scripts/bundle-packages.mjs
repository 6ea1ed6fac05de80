/**
 * Bundle packages that consist of many files into one file each, in `packages/` of the compiled server, and rewrite the
 * server's imports. Loading hundreds of files is most of the cost of a start, and each worker and thread pays it again.
 * See docs/contribute/notes/dependencies.md.
 */
import { readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { build } from 'esbuild'

/** Other packages are small, or load files from their own folder. */
const PACKAGES = new Set(['express', 'kysely', 'prom-client', 'undici', 'zod'])

/** An import statement as the compiler writes it: default, names or both. */
const IMPORT = /import (?:(\w+)(?:, )?)?(?:\{([^}]*)\} )?from '([\w-]+)';/g

/** A namespace import or a re-export. */
const OTHER_IMPORT = /^(?:import|export) \*.* from '([\w-]+)';|^export .* from '([\w-]+)';/gm

/** `require` for CommonJS packages. */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

const BUNDLE_OPTIONS = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'eof',
  logLevel: 'warning',
  metafile: true,
}

/** Rewrite the imports of the compiled files in `folder`. */
export async function bundlePackages(folder, rootFolder) {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true })
  const files = entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.js'))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
  const texts = new Map(await Promise.all(files.map(async (file) => [file, await readFile(file, 'utf8')])))
  const names = collectNames([...texts.values()])
  assertNoOtherImports(texts)
  const built = await Promise.all(
    [...names].map(([name, used]) => bundle(name, { used, folder, rootFolder })),
  )
  built.push(await bundleTracing(folder, rootFolder))
  await writeFile(join(folder, 'packages', 'LICENSES.txt'), await collectLicences(built, rootFolder))
  for (const [file, text] of texts) {
    const rewritten = text.replaceAll(/ from '([\w-]+)';/g, (whole, name) => {
      if (!names.has(name)) return whole
      const path = relative(dirname(file), join(folder, 'packages', `${name}.js`))
      return ` from '${path.startsWith('.') ? path : `./${path}`}';`
    })
    if (rewritten !== text) await writeFile(file, rewritten)
  }
}

/** Reject import forms that are not rewritten: they would load a second instance of the package. */
function assertNoOtherImports(texts) {
  for (const [file, text] of texts) {
    for (const [whole, first, second] of text.matchAll(OTHER_IMPORT))
      if (PACKAGES.has(first ?? second))
        throw new Error(`${file}: "${whole}" cannot be bundled; import names`)
  }
}

/** Collect the licences of all bundled packages. */
async function collectLicences(built, rootFolder) {
  const inputs = built.flatMap(({ metafile }) => Object.keys(metafile.inputs))
  const found = inputs.flatMap((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [])
  const texts = [...new Set(found)]
    .toSorted((a, b) => a.localeCompare(b))
    .map(async (path) => {
      const { name, version, license } = JSON.parse(
        await readFile(resolve(rootFolder, path, 'package.json'), 'utf8'),
      )
      const files = (await readdir(resolve(rootFolder, path))).filter((file) =>
        /^(?:licen[cs]e|notice)/i.test(file),
      )
      const licences = await Promise.all(
        files.map((file) => readFile(resolve(rootFolder, path, file), 'utf8')),
      )
      return [`${name} ${version} (${license})`, ...licences].join('\n\n')
    })
  return (await Promise.all(texts)).join(`\n\n${'-'.repeat(80)}\n\n`)
}

/** Imported names by package. */
function collectNames(texts) {
  const names = new Map()
  for (const [, byDefault, list = '', name] of texts.flatMap((text) => [...text.matchAll(IMPORT)])) {
    if (!PACKAGES.has(name)) continue
    const used = names.get(name) ?? new Set()
    names.set(name, used)
    if (byDefault !== undefined) used.add('default')
    for (const part of list.split(',')) {
      const [imported] = part.trim().split(' as ')
      if (imported !== '') used.add(imported)
    }
  }
  return names
}

/** Bundle OpenTelemetry into the file that imports it: 0.1 MB instead of a dependency of 18 MB (decision 0040). */
async function bundleTracing(folder, rootFolder) {
  const file = join(folder, 'observability', 'opentelemetry.js')
  // The server's own modules have state, so they are not bundled.
  const ownModules = {
    name: 'own-modules',
    setup: ({ onResolve }) =>
      onResolve({ filter: /^\./ }, ({ importer, path }) =>
        importer === file ? { path, external: true } : undefined,
      ),
  }
  await rm(`${file}.map`, { force: true })
  return build({
    ...BUNDLE_OPTIONS,
    entryPoints: [file],
    outfile: file,
    allowOverwrite: true,
    plugins: [ownModules],
    nodePaths: [join(rootFolder, 'node_modules')],
    mainFields: ['module', 'main'],
    absWorkingDir: rootFolder,
  })
}

function bundle(name, { used, folder, rootFolder }) {
  return build({
    stdin: { contents: `export { ${[...used].join(', ')} } from '${name}'`, resolveDir: rootFolder },
    outfile: join(folder, 'packages', `${name}.js`),
    ...BUNDLE_OPTIONS,
    banner: { js: REQUIRE },
    absWorkingDir: rootFolder,
  })
}
