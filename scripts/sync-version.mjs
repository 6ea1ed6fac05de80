/**
 * Write the version of package.json to all files that repeat it; `npm version` runs this. `--check`: exit 1 and list the files
 * that have another one.
 */
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const isCheck = process.argv.includes('--check')
const root = new URL('..', import.meta.url)
const read = (path) => readFile(new URL(path, root), 'utf8')

/** Find a file in each folder of a folder. */
async function listFiles(folder, file) {
  const names = await readdir(new URL(folder, root)).catch(() => [])
  const paths = names.map((name) => `${folder}${name}/${file}`)
  const texts = await Promise.all(paths.map((path) => read(path).catch(() => undefined)))
  return paths.filter((_path, index) => texts[index] !== undefined)
}

const WORDPRESS = 'integrations/wordpress/vitrine/'
const JSON_VERSION = /(?<=^\s*"version": ")[^"]+/m

/** Files with a pattern of each version in them. */
const places = [
  ['docs/publish/openapi.json', JSON_VERSION],
  ['compose.yaml', /(?<=image: vitrine:)\S+/],
  ['deploy/kubernetes/deployment.yaml', /(?<=image: vitrine:)\S+/],
  ['deploy/kubernetes/kustomization.yaml', /(?<=newTag: ).+/],
  [`${WORDPRESS}vitrine.php`, /(?<=^ \* Version: +)\S+/m],
  [`${WORDPRESS}vitrine.php`, /(?<='VITRINE_VERSION', ')[^']+/],
  [`${WORDPRESS}readme.txt`, /(?<=^Stable tag: )\S+/m],
  ...(await listFiles(`${WORDPRESS}blocks/`, 'block.json')).map((path) => [path, JSON_VERSION]),
  ...(await listFiles('packages/', 'package.json')).map((path) => [path, JSON_VERSION]),
]

const { version } = JSON.parse(await read('package.json'))
const outdated = new Set()
for (const [path, pattern] of places) {
  const text = await read(path)
  if (!pattern.test(text)) throw new Error(`${path} has no version that matches ${pattern}`)
  const synced = text.replace(pattern, version)
  if (synced === text) continue
  outdated.add(path)
  if (!isCheck) await writeFile(fileURLToPath(new URL(path, root)), synced)
}

// `npm version` changes only the lock file of the root package.
for (const path of ['package-lock.json', 'packages/embed/package-lock.json']) {
  const text = await read(path)
  const lock = JSON.parse(text)
  for (const entry of [lock, lock.packages['']]) entry.version = version
  const synced = `${JSON.stringify(lock, null, 2)}\n`
  if (synced === text) continue
  outdated.add(path)
  if (!isCheck) await writeFile(new URL(path, root), synced)
}

if (isCheck && outdated.size > 0) {
  process.stderr.write(`not version ${version}: ${[...outdated].join(', ')}\n`)
  process.exitCode = 1
}
