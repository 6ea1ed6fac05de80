import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { readEnvironment } from '../../src/config/env.ts'
import { makeFolder } from '../cli/run-cli.ts'

describe('environment', () => {
  it('no .env - the environment of the process', () => {
    vi.stubEnv('VITRINE_PORT', '5000')
    expect(readEnvironment(makeFolder())).toMatchObject({ VITRINE_PORT: '5000' })
    vi.unstubAllEnvs()
  })

  it('.env - is read; the environment takes precedence', () => {
    const folder = makeFolder()
    writeFileSync(join(folder, '.env'), 'VITRINE_LOCALE=de\nVITRINE_PORT=4000\n')
    vi.stubEnv('VITRINE_PORT', '5000')
    expect(readEnvironment(folder)).toMatchObject({ VITRINE_LOCALE: 'de', VITRINE_PORT: '5000' })
    vi.unstubAllEnvs()
  })

  it('unreadable .env - ConfigError', () => {
    const folder = makeFolder()
    mkdirSync(join(folder, '.env'))
    expect(() => readEnvironment(folder)).toThrow(/cannot read the file \.env next to package\.json: EISDIR/)
  })
})
