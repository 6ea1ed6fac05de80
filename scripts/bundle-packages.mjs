/**
 * Packages that are made of many files, as one file each in `packages/` of the compiled server, and the server's imports
 * led there: finding, reading and compiling hundreds of files is most of what a start costs, in time and in memory, and
 * every worker and thread pays it again. docs/contribute/notes/dependencies.md says more.
 */
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { build } from 'esbuild'

/** The others are small, or find files of their own beside them. */
const PACKAGES = new Set(['express', 'kysely', 'prom-client', 'undici', 'zod'])

/** An import of the compiler's: a default, names, or both. */
const IMPORT = /import (?:(\w+)(?:, )?)?(?:\{([^}]*)\} )?from '([\w-]+)';/g

/** A whole package under one name, or what is handed on of it. */
const OTHER_IMPORT = /^(?:import|export) \*.* from '([\w-]+)';|^export .* from '([\w-]+)';/gm

/** Node's own `require` for packages that are CommonJS. */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

/** Changes the compiled files below `folder`. */
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

/** An import in a form that is not led to the bundle would be a second instance of the package. */
function assertNoOtherImports(texts) {
  for (const [file, text] of texts) {
    for (const [whole, first, second] of text.matchAll(OTHER_IMPORT))
      if (PACKAGES.has(first ?? second))
        throw new Error(`${file}: "${whole}" cannot be bundled; import names`)
  }
}

/** The licence of every package of which something lies in a bundle. */
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

/** What is imported of each package. */
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

function bundle(name, { used, folder, rootFolder }) {
  return build({
    stdin: { contents: `export { ${[...used].join(', ')} } from '${name}'`, resolveDir: rootFolder },
    outfile: join(folder, 'packages', `${name}.js`),
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    banner: { js: REQUIRE },
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'eof',
    logLevel: 'warning',
    metafile: true,
    absWorkingDir: rootFolder,
  })
}
