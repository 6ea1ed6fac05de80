import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Environment } from '../../../src/config/config.ts'
import { makeFolder, makeSettings, runInProcess } from '../../cli/run-cli.ts'
import { FAKE_KEY } from '../../helpers/fake-catalog.ts'

type Finding = { subject: string; isGood: boolean; message: string; remedy: string | null }

async function check(
  settings: Environment,
): Promise<{ code: number | null; bad: Finding[]; subjects: string[] }> {
  const { code, out } = await runInProcess(['check', '--json'], settings)
  const findings = JSON.parse(out) as Finding[]
  expect(findings.every(({ isGood, remedy }) => isGood === (remedy === null))).toBe(true)
  expect(out).not.toContain(FAKE_KEY)
  return {
    code,
    bad: findings.filter(({ isGood }) => !isGood),
    subjects: findings.map(({ subject }) => subject),
  }
}

describe('check', () => {
  it('embedded catalog without data - 1, with the command to import', async () => {
    const { code, bad } = await check(makeSettings(makeFolder()))
    expect(code).toBe(1)
    expect(bad).toMatchObject([
      { message: 'the catalog is empty', remedy: expect.stringContaining('vitrine catalog import') },
    ])
  })

  it('embedded catalog cannot be opened - 1', async () => {
    const folder = makeFolder()
    mkdirSync(join(folder, 'catalog.db'))
    expect(await check(makeSettings(folder))).toMatchObject({
      code: 1,
      bad: [
        {
          subject: 'catalog service',
          message: expect.stringMatching(/: it is a folder \(VITRINE_STORE_FAILED\)$/),
          remedy: 'Choose the path of a file. The path is set by VITRINE_CATALOG_DATABASE_URL.',
        },
      ],
    })
  })
})
