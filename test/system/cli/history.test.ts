import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import request from 'supertest'
import { expect, test } from 'vitest'
import { makeFolder, makeSettings, runBuilt, startBuilt } from '../../cli/run-cli.ts'

const SHOWCASE = '952a0000-0000-4000-8000-000000000001,09520001001024,novabrück,EUR,'

test('first start with sample data - grids of observed falls have deals, and the history can be exported and imported', async () => {
  const folder = makeFolder()
  const settings = makeSettings(folder)
  const running = startBuilt(['serve', '--json'], settings)
  const { grid } = JSON.parse(await running.firstLine) as { grid: string }
  for (const query of ['evidence=observed', 'sort=drop', 'evidence=observed&sort=drop']) {
    const { status, headers } = await request(`${grid}?${query}`).get('')
    expect([query, status, headers['vitrine-state']]).toEqual([query, 200, 'shown'])
  }
  const file = join(folder, 'prices.csv')
  expect(await runBuilt(['history', 'export', '--output', file], settings)).toMatchObject({ code: 0 })
  const rows = readFileSync(file, 'utf8').trim().split('\n')
  // The prices of the sample's first three steps, and today's.
  const showcase = rows
    .filter((row) => row.startsWith(SHOWCASE))
    .map((row) => row.split(',').slice(6).join(' '))
  expect(showcase).toEqual([
    '219 219 imported',
    '209 209 imported',
    '209 209 imported',
    '199 199 imported',
    '199 199 observed',
  ])
  const repeated = await runBuilt(['history', 'import', file], settings)
  expect(repeated).toMatchObject({
    code: 0,
    out: expect.stringContaining('has observed these prices itself'),
  })
  const { out } = await runBuilt(['history', 'export'], settings)
  expect(out.trim().split('\n')).toEqual(rows)
  writeFileSync(file, `${rows[0]}\n${SHOWCASE}2026-01-01,2025-01-01,1,1,observed\n`)
  expect(await runBuilt(['history', 'import', file], settings)).toMatchObject({ code: 1, out: '' })
  expect((await running.stop('SIGTERM')).code).toBe(0)
})
