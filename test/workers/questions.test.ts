import { describe, expect, test } from 'vitest'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { createHandedKey } from '../../src/workers/handed-key.ts'
import { createQuestions } from '../../src/workers/questions.ts'

describe('questions to another process', () => {
  test('answers in another order - each to its own question', async () => {
    const questions = createQuestions(createFakeClock(0), 100)
    const asked: number[] = []
    const answers = [1, 2].map(() => questions.ask((id) => asked.push(id)))
    questions.take(asked[1] ?? 0, 'second')
    questions.take(asked[0] ?? 0, 'first')
    expect(await Promise.all(answers)).toEqual(['first', 'second'])
  })

  test('no answer in time - undefined; one that comes later is passed over', async () => {
    const clock = createFakeClock(0)
    const questions = createQuestions(clock, 100)
    let asked = 0
    const answer = questions.ask((id) => (asked = id))
    clock.advance(100)
    expect(await answer).toBeUndefined()
    questions.take(asked, 'late')
  })
})

describe('key of a worker', () => {
  test('handed on - is the key from then on', () => {
    const key = createHandedKey('first-key', () => Promise.resolve(undefined))
    key.take('second-key')
    expect(key.current().reveal()).toBe('second-key')
  })

  test.each([
    ['another one', 'second-key', [true, 'second-key']],
    ['the same', 'first-key', [false, 'first-key']],
    ['no answer', undefined, [false, 'first-key']],
  ])('read again by the primary: %s', async (_what, answer, expected) => {
    const key = createHandedKey('first-key', () => Promise.resolve(answer))
    expect([await key.refresh(), key.current().reveal()]).toEqual(expected)
  })

  test('another one was handed on while the primary was asked - it is new', async () => {
    const key = createHandedKey('first-key', () => {
      key.take('second-key')
      return Promise.resolve('second-key')
    })
    expect(await key.refresh()).toBe(true)
  })
})
