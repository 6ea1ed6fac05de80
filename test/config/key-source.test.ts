import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createFixedKeySource, openKeySource } from '../../src/config/key-source.ts'
import { Secret } from '../../src/config/secrets.ts'

function makeFile(text: string | Buffer): string {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-key-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'key')
  writeFileSync(path, text)
  return path
}

describe('fixed key', () => {
  it('refresh - never changes the key', async () => {
    const source = createFixedKeySource(new Secret('k1'))
    expect(await source.refresh()).toBe(false)
    expect(source.current().reveal()).toBe('k1')
  })
})

describe('key file', () => {
  it.each([
    ['plain', 'k1'],
    ['line end', 'k1\n'],
    ['Windows line end and spaces', '  k1 \r\n'],
    ['byte order mark', '\ufeffk1\n'],
  ])('start - %s - the key', (_name, text) => {
    expect(
      openKeySource({ catalogKey: null, catalogKeyFile: makeFile(text) })
        .current()
        .reveal(),
    ).toBe('k1')
  })

  it.each([
    ['empty', ''],
    ['white space', ' \n'],
    ['two lines', 'k1\nk2'],
    ['control characters', 'k\u0000'],
    ['not ASCII', 'schlüssel'],
    ['too long', 'k'.repeat(1_025)],
  ])('start - %s - ConfigError without the text', (_name, text) => {
    const path = makeFile(text)
    expect(() => openKeySource({ catalogKey: null, catalogKeyFile: path })).toThrow(
      expect.objectContaining({ code: 'VITRINE_CONFIG_INVALID' }),
    )
    expect(() => openKeySource({ catalogKey: null, catalogKeyFile: path })).toThrow(
      /^(?![^]*(?:k1|schl|kkk))/,
    )
  })

  it('start - quotes, UTF-16 - ConfigError that says so', () => {
    for (const [content, problem] of [
      ['"k1"\n', 'VITRINE_CATALOG_KEY_FILE: the key in the file is in quotes; remove them'],
      [
        Buffer.from('k1', 'utf16le'),
        'VITRINE_CATALOG_KEY_FILE: the file is not UTF-8 text; save it as UTF-8',
      ],
    ] as const)
      expect(() => openKeySource({ catalogKey: null, catalogKeyFile: makeFile(content) })).toThrow(
        expect.objectContaining({ problems: [problem] }),
      )
  })

  it('start - missing file, which may be mounted later - FileError; a path below a file - ConfigError', () => {
    const path = makeFile('k1')
    for (const [missing, code] of [
      [`${path}-missing`, 'VITRINE_FILE_UNREADABLE'],
      [join(path, 'missing'), 'VITRINE_CONFIG_INVALID'],
    ] as const)
      expect(() => openKeySource({ catalogKey: null, catalogKeyFile: missing })).toThrow(
        expect.objectContaining({ code }),
      )
  })

  it('refresh - same, new, invalid, missing and restored file - reports only a new key, and keeps the last valid one', async () => {
    const path = makeFile('k1')
    const source = openKeySource({ catalogKey: null, catalogKeyFile: path })
    expect(await source.refresh()).toBe(false)
    writeFileSync(path, 'k2\n')
    expect(source.current().reveal()).toBe('k1')
    expect(await source.refresh()).toBe(true)
    expect(source.current().reveal()).toBe('k2')
    for (const text of ['not a key', '"k3"']) {
      writeFileSync(path, text)
      expect(await source.refresh()).toBe(false)
    }
    rmSync(path)
    expect(await source.refresh()).toBe(false)
    expect(source.current().reveal()).toBe('k2')
    writeFileSync(path, 'k1')
    expect(await source.refresh()).toBe(true)
    expect(source.current().reveal()).toBe('k1')
  })
})
