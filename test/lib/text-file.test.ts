import { describe, expect, it } from 'vitest'
import { decodeTextFile } from '../../src/lib/files.ts'

const TEXT = 'NAME=Müller\r\n'

describe('decodeTextFile', () => {
  it.each([
    ['UTF-8', Buffer.from(TEXT), TEXT],
    ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${TEXT}`), TEXT],
    ['empty', Buffer.alloc(0), ''],
  ])('%s - the text without the mark', (_name, bytes, text) => {
    expect(decodeTextFile(bytes)).toBe(text)
  })

  it.each([
    ['UTF-16 with a mark', Buffer.from(`\ufeff${TEXT}`, 'utf16le')],
    ['UTF-16, big-endian, with a mark', Buffer.from(`\ufeff${TEXT}`, 'utf16le').swap16()],
    ['UTF-16 without a mark', Buffer.from('NAME=value', 'utf16le')],
    ['Windows-1252', Buffer.from(TEXT, 'latin1')],
    ['NUL character', Buffer.from('a\0b')],
  ])('%s - undefined', (_name, bytes) => {
    expect(decodeTextFile(bytes)).toBeUndefined()
  })
})
