/** `npm run size`: compare the compressed sizes of browser assets with their limits. Exit 1 if one is too large. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

const BUILT_FOLDER = fileURLToPath(new URL('../public/built', import.meta.url))
const EMBED_MODULE = fileURLToPath(new URL('../packages/embed/dist/index.js', import.meta.url))

const manifest = JSON.parse(await readFile(join(BUILT_FOLDER, 'manifest.json'), 'utf8'))
const toPath = (name) => join(BUILT_FOLDER, manifest[name].file)

/** Files with their largest sizes in bytes, compressed by gzip like the responses of the server. */
const LIMITS = [
  ['embed.js', toPath('embed.js'), 3_000],
  ['frame.js', toPath('frame.js'), 1_000],
  ['vitrine.css', toPath('vitrine.css'), 7_000],
  ['@vitrine/embed', EMBED_MODULE, 2_500],
]

for (const [name, path, limitBytes] of LIMITS) {
  const content = await readFile(path)
  const sizeBytes = gzipSync(content, { level: 9 }).byteLength
  const isOver = sizeBytes > limitBytes
  process.stdout.write(
    `${name.padEnd(14)} ${sizeBytes} of ${limitBytes} bytes${isOver ? '  TOO LARGE' : ''}\n`,
  )
  if (isOver) process.exitCode = 1
}
