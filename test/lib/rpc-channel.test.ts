import { describe, expect, test } from 'vitest'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { createRpcChannel } from '../../src/lib/rpc-channel.ts'

describe('calls to another process or thread', () => {
  test('replies in another order - each resolves its own call', async () => {
    const channel = createRpcChannel({ clock: createFakeClock(0), timeoutMs: 100 })
    const asked: number[] = []
    const answers = [1, 2].map(() => channel.call((id) => asked.push(id)))
    channel.resolve(asked[1] ?? 0, 'second')
    channel.resolve(asked[0] ?? 0, 'first')
    expect(await Promise.all(answers)).toEqual(['first', 'second'])
  })

  test('no reply in time - undefined; a late reply is ignored', async () => {
    const clock = createFakeClock(0)
    const channel = createRpcChannel({ clock, timeoutMs: 100 })
    let asked = 0
    const answer = channel.call((id) => (asked = id))
    clock.advance(100)
    expect(await answer).toBeUndefined()
    channel.resolve(asked, 'late')
  })

  test('other side ends - pending calls resolve at once, and no further call is sent', async () => {
    const clock = createFakeClock(0)
    const end = new AbortController()
    const channel = createRpcChannel({ clock, timeoutMs: 100, endSignal: end.signal })
    const asked: number[] = []
    const answers = [1, 2].map(() => channel.call((id) => asked.push(id)))
    end.abort()
    expect(await Promise.all(answers)).toEqual([undefined, undefined])
    expect(await channel.call((id) => asked.push(id))).toBeUndefined()
    expect(asked).toHaveLength(2)
    expect(clock.pendingWaits).toBe(0)
  })
})
