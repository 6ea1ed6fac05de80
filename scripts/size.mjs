/** `npm run size`: compare the compressed sizes of browser assets with their limits. Exit 1 if one is too large. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

const BUILT_FOLDER = fileURLToPath(new URL('../public/built', import.meta.url))

/** Largest gzip size by asset, in bytes. */
const LIMITS = { 'embed.js': 2_500, 'frame.js': 1_000, 'vitrine.css': 7_000 }

const manifest = JSON.parse(await readFile(join(BUILT_FOLDER, 'manifest.json'), 'utf8'))
for (const [name, limitBytes] of Object.entries(LIMITS)) {
  const content = await readFile(join(BUILT_FOLDER, manifest[name].file))
  const sizeBytes = gzipSync(content, { level: 6 }).byteLength
  const isOver = sizeBytes > limitBytes
  process.stdout.write(
    `${name.padEnd(12)} ${sizeBytes} of ${limitBytes} bytes${isOver ? '  TOO LARGE' : ''}\n`,
  )
  if (isOver) process.exitCode = 1
}
