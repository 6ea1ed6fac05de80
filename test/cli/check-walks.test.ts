import { expect, test } from 'vitest'
import { makeFolder, runInProcess, startRemoteCatalog } from './run-cli.ts'

type Finding = Readonly<{ subject: string; isGood: boolean; message: string; remedy: string | null }>

test.each([
  ['enough', { VITRINE_CATALOG_DAILY_LIMIT: '96' }, 'good', 'null'],
  ['too small', { VITRINE_CATALOG_DAILY_LIMIT: '20' }, 'good', 'Use a plan of 96 calls a day'],
  [
    'so small that prices are hidden',
    { VITRINE_CATALOG_DAILY_LIMIT: '20', VITRINE_PRICE_MAX_AGE_SECONDS: '3600' },
    'wrong',
    '34,560 would keep them',
  ],
] as const)('daily limit %s - check says what walks need', async (...[, over, state, remedy]) => {
  const { settings } = await startRemoteCatalog(makeFolder())
  await runInProcess(['sync'], settings)
  const { code, out } = await runInProcess(['check', '--json'], { ...settings, ...over })
  const walks = (JSON.parse(out) as Finding[]).find(({ subject }) => subject === 'walks')
  expect([code, walks?.isGood]).toEqual(state === 'good' ? [0, true] : [1, false])
  expect(walks?.message).toContain('every 1 h')
  expect(String(walks?.remedy)).toContain(remedy)
})
