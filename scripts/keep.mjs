/**
 * `npm run keep`: puts the built scripts that other sites load into public/kept/, under their hashed names. Publishers pin
 * them by their digest: what a release had is never changed or deleted there.
 */
import { copyFile, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PUBLIC_FOLDER = fileURLToPath(new URL('../public', import.meta.url))
const KEPT_FOLDER = join(PUBLIC_FOLDER, 'kept')

const manifest = JSON.parse(await readFile(join(PUBLIC_FOLDER, 'built/manifest.json'), 'utf8'))
await mkdir(KEPT_FOLDER, { recursive: true })
for (const name of ['embed.js', 'frame.js']) {
  const { file } = manifest[name]
  await copyFile(join(PUBLIC_FOLDER, 'built', file), join(KEPT_FOLDER, file))
  process.stdout.write(`kept ${file}\n`)
}
