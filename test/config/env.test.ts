import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { readEnvironment } from '../../src/config/env.ts'
import { makeFolder } from '../cli/run-cli.ts'

describe('environment', () => {
  it('no .env - the process alone', () => {
    vi.stubEnv('VITRINE_PORT', '5000')
    expect(readEnvironment(makeFolder())).toMatchObject({ VITRINE_PORT: '5000' })
    vi.unstubAllEnvs()
  })

  it('.env - is read; the real environment wins', () => {
    const folder = makeFolder()
    writeFileSync(join(folder, '.env'), 'VITRINE_LOCALE=de\nVITRINE_PORT=4000\n')
    vi.stubEnv('VITRINE_PORT', '5000')
    expect(readEnvironment(folder)).toMatchObject({ VITRINE_LOCALE: 'de', VITRINE_PORT: '5000' })
    vi.unstubAllEnvs()
  })

  it('.env that cannot be read - a ConfigError: nobody is served by other settings than meant', () => {
    const folder = makeFolder()
    mkdirSync(join(folder, '.env'))
    expect(() => readEnvironment(folder)).toThrow(/cannot read the file \.env next to package\.json: EISDIR/)
  })
})
