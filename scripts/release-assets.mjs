/**
 * `npm run release:assets`: copy the built files that other sites load to public/released/, with their hashed names.
 * Publishers pin scripts by digest, and stored pages and fragments link the style sheet, so a released file is never changed
 * or deleted.
 */
import { copyFile, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PUBLIC_FOLDER = fileURLToPath(new URL('../public', import.meta.url))
const RELEASED_FOLDER = join(PUBLIC_FOLDER, 'released')

const manifest = JSON.parse(await readFile(join(PUBLIC_FOLDER, 'built/manifest.json'), 'utf8'))
await mkdir(RELEASED_FOLDER, { recursive: true })
for (const name of ['embed.js', 'frame.js', 'vitrine.css']) {
  const { file } = manifest[name]
  await copyFile(join(PUBLIC_FOLDER, 'built', file), join(RELEASED_FOLDER, file))
  process.stdout.write(`added ${file}\n`)
}
