import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createEtag, hashFolders, isEtagMatch } from '../../src/http/response.ts'

describe('createEtag', () => {
  it('is quoted, equal for equal texts, and different for other texts', () => {
    expect(createEtag('text')).toMatch(/^"[\w-]{27}"$/)
    expect(createEtag('text')).toBe(createEtag('text'))
    expect(createEtag('text ')).not.toBe(createEtag('text'))
  })
})

describe('If-None-Match', () => {
  it.each<[string | undefined, boolean]>([
    [undefined, false],
    ['', false],
    ['"abc"', true],
    ['W/"abc"', true],
    ['"abd"', false],
    ['abc', false],
    ['"ABC"', false],
    ['*', true],
    ['"x", "abc"', true],
    ['"x",W/"abc" ,"y"', true],
    ['"x" , "y"', false],
    ['"abc-gzip"', false],
    [',,', false],
    ['w/"abc"', false],
  ])('%s - %s, for a strong and for a weak tag', (header, expected) => {
    expect(isEtagMatch(header, '"abc"')).toBe(expected)
    expect(isEtagMatch(header, 'W/"abc"')).toBe(expected)
  })
})

describe('hash of a folder', () => {
  it('changed byte or new file - another hash; same files in another folder - the same hash', () => {
    const folder = mkdtempSync(join(tmpdir(), 'vitrine-hash-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    mkdirSync(join(folder, 'views/partials'), { recursive: true })
    writeFileSync(join(folder, 'views/a.eta'), 'a')
    writeFileSync(join(folder, 'views/partials/b.eta'), 'b')
    const first = hashFolders([join(folder, 'views')])
    renameSync(join(folder, 'views'), join(folder, 'elsewhere'))
    expect(hashFolders([join(folder, 'elsewhere')])).toBe(first)
    writeFileSync(join(folder, 'elsewhere/partials/b.eta'), 'c')
    const second = hashFolders([join(folder, 'elsewhere')])
    writeFileSync(join(folder, 'elsewhere/c.eta'), '')
    const third = hashFolders([join(folder, 'elsewhere')])
    expect(new Set([first, second, third]).size).toBe(3)
  })
})
