import { describe, expect, test } from 'vitest'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { createQuestions } from '../../src/lib/rpc-channel.ts'

describe('questions to another process or thread', () => {
  test('answers in another order - each to its own question', async () => {
    const questions = createQuestions({ clock: createFakeClock(0), withinMs: 100 })
    const asked: number[] = []
    const answers = [1, 2].map(() => questions.ask((id) => asked.push(id)))
    questions.take(asked[1] ?? 0, 'second')
    questions.take(asked[0] ?? 0, 'first')
    expect(await Promise.all(answers)).toEqual(['first', 'second'])
  })

  test('no answer in time - undefined; one that comes later is passed over', async () => {
    const clock = createFakeClock(0)
    const questions = createQuestions({ clock, withinMs: 100 })
    let asked = 0
    const answer = questions.ask((id) => (asked = id))
    clock.advance(100)
    expect(await answer).toBeUndefined()
    questions.take(asked, 'late')
  })

  test('other side ends - every question that waits is over at once, and none is sent any more', async () => {
    const clock = createFakeClock(0)
    const end = new AbortController()
    const questions = createQuestions({ clock, withinMs: 100, ended: end.signal })
    const asked: number[] = []
    const answers = [1, 2].map(() => questions.ask((id) => asked.push(id)))
    end.abort()
    expect(await Promise.all(answers)).toEqual([undefined, undefined])
    expect(await questions.ask((id) => asked.push(id))).toBeUndefined()
    expect(asked).toHaveLength(2)
    expect(clock.pendingWaits).toBe(0)
  })
})
