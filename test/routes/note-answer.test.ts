import type { Request, Response } from 'express'
import { describe, expect, test } from 'vitest'
import { BadOptionError, CatalogDeadlineError } from '../../src/errors.ts'
import { noteFailure } from '../../src/routes/note-answer.ts'
import { BOX, startHarness, visit } from '../app/visit.ts'
import type { Harness } from '../helpers/harness.ts'

type Line = Readonly<Record<string, unknown> & { err?: Readonly<{ message: string; stack: string }> }>

const WARN = 40
const ERROR = 50

/** Lines about failures of an answer, without time and process. */
function listLines(harness: Harness): Line[] {
  const lines = harness
    .logs()
    .split('\n')
    .filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line) as Line).filter(({ surface }) => surface !== undefined)
}

/** A request for a path and its response, with what is read of them. */
function toExchange(path: string): Readonly<{ request: Request; response: Response }> {
  return {
    request: { originalUrl: path } as unknown as Request,
    response: { locals: {} } as unknown as Response,
  }
}

async function countAnswers({ context }: Harness): Promise<string[]> {
  const { text } = await context.metrics.print()
  return text.split('\n').filter((line) => line.startsWith('vitrine_answers_total'))
}

describe('failure of an answer', () => {
  test('error of ours - a warning with its code, without a stack', async () => {
    const harness = await startHarness()
    const error = new CatalogDeadlineError('no answer in time')
    noteFailure(harness.context, { error, surface: 'embed', state: 'unavailable', ...toExchange('/c/deals') })
    const [line] = listLines(harness)
    expect(line).toMatchObject({
      level: WARN,
      code: 'VITRINE_CATALOG_DEADLINE',
      surface: 'embed',
      path: '/c/deals',
      msg: 'no answer in time',
    })
    expect(JSON.stringify(line)).not.toContain('stack')
  })

  test.each([
    [new TypeError('x is not a function'), 'x is not a function'],
    [Object.assign(new Error('half an error'), { code: 'VITRINE_FAKE' }), 'half an error'],
  ])('%s - is a bug: an error with its stack', async (error, message) => {
    const harness = await startHarness()
    noteFailure(harness.context, { error, surface: 'page', state: 'unavailable', ...toExchange('/studio') })
    const [line] = listLines(harness)
    expect(line).toMatchObject({
      level: ERROR,
      msg: 'an error without a code: a bug',
      surface: 'page',
      path: '/studio',
    })
    expect(line?.err?.message).toBe(message)
    expect(line?.err?.stack).toContain('note-answer.test.ts')
  })

  test.each([undefined, null, 'a text', { status: 500 }])(
    'thrown %j - is counted and logged',
    async (error) => {
      const harness = await startHarness()
      noteFailure(harness.context, { error, surface: 'page', state: 'unavailable', ...toExchange('/') })
      expect(listLines(harness)).toHaveLength(1)
      expect(await countAnswers(harness)).toHaveLength(1)
    },
  )

  test('several - are counted by surface and state, never as from a cache', async () => {
    const harness = await startHarness()
    const error = new BadOptionError('limit', 'a number')
    const note = (surface: string, state: string): void =>
      noteFailure(harness.context, { error, surface, state, ...toExchange('/') })
    note('fragment', 'invalid')
    note('fragment', 'invalid')
    note('embed', 'unavailable')
    expect(await countAnswers(harness)).toEqual([
      'vitrine_answers_total{surface="fragment",state="invalid",cache="none"} 2',
      'vitrine_answers_total{surface="embed",state="unavailable",cache="none"} 1',
    ])
  })

  test('request with a secret in its query - the path alone is logged', async () => {
    const harness = await startHarness()
    for (const path of [`${BOX}?limit=0&token=secret-7f3a`, '/nothing?token=secret-7f3a'])
      await visit(harness, path)
    expect(listLines(harness).map(({ surface }) => surface)).toEqual(['fragment', 'page'])
    expect(harness.logs()).not.toContain('secret-7f3a')
  })
})
