import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** A strong validator over everything that a body depends on: its whole view and the version of the templates. */
export function createEtag(view: unknown, version: string): string {
  return `"${createHash('sha256').update(version).update('\0').update(JSON.stringify(view)).digest('base64url').slice(0, 27)}"`
}

/** A hash over every template below a folder: an answer made by another template is another answer. */
export function hashFolder(folder: string): string {
  const hash = createHash('sha256')
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
  for (const file of files) hash.update(readFileSync(file)).update('\0')
  return hash.digest('base64url').slice(0, 16)
}

/**
 * Does `If-None-Match` hold the tag (RFC 9110, section 13.1.2)? Weak comparison, lists and `*` included.
 */
export function isNoneMatch(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  if (header === etag) return true
  const tag = etag.replace(/^W\//, '')
  return header.split(',').some((part) => {
    const candidate = part.trim()
    return candidate === '*' || candidate.replace(/^W\//, '') === tag
  })
}
