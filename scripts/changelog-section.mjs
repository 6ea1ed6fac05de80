/** `node scripts/changelog-section.mjs 1.0.0`: print the section of a version in CHANGELOG.md, as the notes of its release. */
import { readFile } from 'node:fs/promises'

const version = process.argv[2] ?? ''
const text = await readFile(new URL('../CHANGELOG.md', import.meta.url), 'utf8')
const section = text.split(/^## /m).find((part) => part.startsWith(`[${version}] - `))
const notes = section?.slice(section.indexOf('\n')).trim() ?? ''
if (notes === '') {
  process.stderr.write(`CHANGELOG.md has no section "## [${version}] - DATE"\n`)
  process.exitCode = 1
} else process.stdout.write(`${notes}\n`)
