import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { readEnvironment } from '../../src/config/env.ts'
import { makeFolder } from '../cli/run-cli.ts'

/** Create the current folder and the package's folder, each with the text of its `.env`. */
function makeFolders(current: string | null, ofPackage: string | null): [string, string] {
  const folders: [string, string] = [makeFolder(), makeFolder()]
  for (const [index, text] of [current, ofPackage].entries())
    if (text !== null) writeFileSync(join(folders[index] ?? '', '.env'), text)
  return folders
}

describe('environment', () => {
  it('no .env - the environment of the process', () => {
    vi.stubEnv('VITRINE_PORT', '5000')
    expect(readEnvironment(...makeFolders(null, null))).toMatchObject({ VITRINE_PORT: '5000' })
    vi.unstubAllEnvs()
  })

  it('.env in the current folder - is read; the environment takes precedence', () => {
    vi.stubEnv('VITRINE_PORT', '5000')
    const folders = makeFolders('VITRINE_LOCALE=de\nVITRINE_PORT=4000\n', null)
    expect(readEnvironment(...folders)).toMatchObject({ VITRINE_LOCALE: 'de', VITRINE_PORT: '5000' })
    vi.unstubAllEnvs()
  })

  it('.env with a byte order mark - its first setting is read, too', () => {
    expect(readEnvironment(...makeFolders('\ufeffVITRINE_LOCALE=de\n', null))).toMatchObject({
      VITRINE_LOCALE: 'de',
    })
  })

  it('.env in both folders - only that of the current folder is read', () => {
    const environment = readEnvironment(
      ...makeFolders('VITRINE_LOCALE=de\n', 'VITRINE_LOCALE=fr\nVITRINE_CURRENCY=EUR\n'),
    )
    expect(environment).toMatchObject({ VITRINE_LOCALE: 'de' })
    expect(environment).not.toHaveProperty('VITRINE_CURRENCY')
  })

  it('.env only beside package.json - is read', () => {
    expect(readEnvironment(...makeFolders(null, 'VITRINE_LOCALE=fr\n'))).toMatchObject({
      VITRINE_LOCALE: 'fr',
    })
  })

  it('unreadable .env - ConfigError that says which one', () => {
    const [current, ofPackage] = makeFolders(null, null)
    mkdirSync(join(ofPackage, '.env'))
    expect(() => readEnvironment(current, ofPackage)).toThrow(
      /cannot read the file \.env beside package\.json: EISDIR/,
    )
    mkdirSync(join(current, '.env'))
    expect(() => readEnvironment(current, ofPackage)).toThrow(
      /cannot read the file \.env in the current folder: EISDIR/,
    )
  })
})
