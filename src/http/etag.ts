import { createHash, hash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Return a strong validator of a text. */
export function createEtag(text: string): string {
  return `"${hash('sha256', text, 'base64url').slice(0, 27)}"`
}

/** Hash every file below some folders: a response that other templates or other code made is another response. */
export function hashFolders(folders: readonly string[]): string {
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort(),
  )
  const digest = createHash('sha256')
  for (const file of files) digest.update(readFileSync(file)).update('\0')
  return digest.digest('base64url').slice(0, 16)
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
