import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile, readdir, rm } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { replaceFile } from './replace-file.mjs'

/** List the files in a folder and below it, by their paths in it; none if it does not exist. */
export async function listFiles(folder) {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(ignoreMissing)
  return (entries ?? [])
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath ?? dirname(entry.path), entry.name)))
    .toSorted()
}

/**
 * Run a build unless its stamp says that neither what it reads (`inputs`: files and folders) nor what it has written into the
 * folder `output` has changed since. `build` returns the content of each file by its path in `output`.
 */
export async function buildIfChanged(stampPath, { rootFolder, inputs, output, build }) {
  const digestInputs = async () => {
    const files = await Promise.all(inputs.map(async (path) => listInputs(rootFolder, path)))
    return computeDigest(rootFolder, files.flat())
  }
  const before = await digestInputs()
  if (await isBuilt(stampPath, before, output)) return
  // A failed build leaves none.
  await rm(stampPath, { force: true })
  const built = await build()
  // An input that changed meanwhile is built next time.
  if ((await digestInputs()) !== before) return
  const written = Object.fromEntries(
    [...built].filter(isChecked).map(([file, content]) => [file, hash(content)]),
  )
  await replaceFile(stampPath, JSON.stringify({ inputs: before, written }))
}

/** Two builds at once can mix their files, so the stamp is also of what they have written. */
async function isBuilt(stampPath, inputDigest, output) {
  const text = await readFile(stampPath, 'utf8').catch(ignoreMissing)
  if (text === undefined) return false
  const { inputs, written } = parseStamp(text)
  if (inputs !== inputDigest) return false
  return Object.entries(written).every(([file, digest]) => hashFile(join(output, file)) === digest)
}

/** An empty stamp is left when the machine loses power. */
function parseStamp(text) {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

/** Source maps do not decide whether a build is complete. */
const isChecked = ([file]) => !file.endsWith('.map')

async function listInputs(rootFolder, path) {
  const files = await listFiles(join(rootFolder, path)).catch((error) => {
    if (error.code !== 'ENOTDIR') throw error
  })
  return files?.map((file) => join(path, file)) ?? [path]
}

function computeDigest(rootFolder, files) {
  return hash(JSON.stringify(files.map((file) => [file, hashFile(join(rootFolder, file))])))
}

/** For a thousand small files, this takes half the time of asynchronous reads. */
function hashFile(path) {
  try {
    return hash(readFileSync(path))
  } catch (error) {
    return ignoreMissing(error)
  }
}

const hash = (content) => createHash('sha256').update(content).digest('hex')

function ignoreMissing(error) {
  if (error.code !== 'ENOENT') throw error
}
