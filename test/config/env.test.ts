import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { readEnvironment } from '../../src/config/env.ts'
import { makeFolder } from '../cli/run-cli.ts'

/** Create the current folder and the package's folder, each with the text of its `.env`. */
function makeFolders(current: string | Buffer | null, ofPackage: string | null): [string, string] {
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
    expect(() => readEnvironment(current, ofPackage)).toThrow(/\.env beside package\.json: it is a folder/)
    mkdirSync(join(current, '.env'))
    expect(() => readEnvironment(current, ofPackage)).toThrow(/\.env in the current folder: it is a folder/)
  })

  it('.env that links to a missing file - FileError, because its volume may be mounted later', () => {
    const [current, ofPackage] = makeFolders(null, 'VITRINE_LOCALE=fr\n')
    symlinkSync('missing', join(current, '.env'))
    expect(() => readEnvironment(current, ofPackage)).toThrow(
      expect.objectContaining({ code: 'VITRINE_FILE_UNREADABLE' }),
    )
    rmSync(join(current, '.env'))
    expect(readEnvironment(current, ofPackage)).toMatchObject({ VITRINE_LOCALE: 'fr' })
  })

  it.each([
    ['UTF-16 with a byte order mark', Buffer.from('\ufeffVITRINE_LOCALE=de\n', 'utf16le')],
    ['UTF-16', Buffer.from('VITRINE_LOCALE=de\n', 'utf16le')],
    ['Windows-1252', Buffer.from('VITRINE_DISCLOSURE=für dich\n', 'latin1')],
  ])('.env in %s - ConfigError', (_name, bytes) => {
    expect(() => readEnvironment(...makeFolders(bytes, null))).toThrow(
      expect.objectContaining({
        problems: ['.env in the current folder: the file is not UTF-8 text; save it as UTF-8'],
      }),
    )
  })

  it.each([
    'VITRINE_LOCALE: de',
    'VITRINE_LOCALE de',
    'VITRINE_LOCALE',
    'vitrine_locale=de',
    'VITRINE-LOCALE=de',
    '\u00a0VITRINE_LOCALE=de',
    'VITRINE_\u200bLOCALE=de',
    'set VITRINE_LOCALE=de',
    '$env:VITRINE_LOCALE="de"',
    '- VITRINE_LOCALE=de',
    '"VITRINE_LOCALE"=de',
    'declare -x VITRINE_LOCALE="de"',
    'export VITRINE_LOCALE: de',
  ])('line %j - ConfigError with its number and without its text', (line) => {
    const text = `# settings\nFOO="two\nlines"\n\n${line}\nVITRINE_CURRENCY=EUR\n`
    const problem = '.env in the current folder, line 5: write the setting as VITRINE_NAME=value'
    for (const whole of [text, `# settings\r\nFOO='two\r\nlines'\r\n\r\n${line}`])
      expect(() => readEnvironment(...makeFolders(whole, null))).toThrow(
        expect.objectContaining({ problems: [problem] }),
      )
  })

  it.each(['VITRINE_ADMIN_PASSWORD=abc#def', 'export VITRINE_FEED_KEY = a b#c'])(
    'line %j - ConfigError: Node would cut the value off',
    (line) => {
      const problem =
        '.env in the current folder, line 2: put the value in quotes, because "#" begins a comment'
      expect(() => readEnvironment(...makeFolders(`A=b#c\n${line}`, null))).toThrow(
        expect.objectContaining({ problems: [problem] }),
      )
    },
  )

  it('lines of other programs, comments, line ends of old systems - no setting is lost', () => {
    const lines = [
      'no setting',
      'VITRINE_LOCALE=de',
      '# VITRINE_LOCALE: fr',
      '  #vitrine_locale=fr',
      'COMPOSE_PROJECT_NAME=vitrine',
      'image: vitrine',
      'export VITRINE_CURRENCY = "EUR" # VITRINE-CURRENCY: USD',
      'NOTE="first',
      'VITRINE_LOCALE: fr"',
      'MY_VITRINE_URL=https://w.example',
      'MY_VITRINE_LOCALE=fr',
      '; VITRINE_LOCALE=fr',
      '// VITRINE_LOCALE=fr',
      'vitrine_tag=1.2',
      'traefik.vitrine_x=1',
      '-----BEGIN VITRINE-----',
      'VITRINE_ADMIN_PASSWORD',
      'export\tVITRINE_SYNC_CRON=off',
      'export  VITRINE_LOG_LEVEL=warn',
      '',
      "VITRINE_DISCLOSURE='Ad: #1#2'",
      'VITRINE_SHOPS_FILE=a # b#c',
    ]
    // A name alone is passed through from the environment, as by Docker.
    vi.stubEnv('VITRINE_ADMIN_PASSWORD', 'secret')
    for (const end of ['\n', '\r\n', '\r'])
      expect(readEnvironment(...makeFolders(lines.join(end), null))).toMatchObject({
        VITRINE_ADMIN_PASSWORD: 'secret',
        VITRINE_SYNC_CRON: 'off',
        VITRINE_LOG_LEVEL: 'warn',
        VITRINE_LOCALE: 'de',
        VITRINE_CURRENCY: 'EUR',
        VITRINE_DISCLOSURE: 'Ad: #1#2',
        VITRINE_SHOPS_FILE: 'a',
        COMPOSE_PROJECT_NAME: 'vitrine',
        NOTE: 'first\nVITRINE_LOCALE: fr',
      })
  })
})
