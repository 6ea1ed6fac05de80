import { describe, expect, test } from 'vitest'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { createRpcChannel } from '../../src/lib/rpc-channel.ts'

describe('calls to another process or thread', () => {
  test('replies out of order - each resolves its own call', async () => {
    const channel = createRpcChannel({ clock: createFakeClock(0), timeoutMs: 100 })
    const sentIds: number[] = []
    const replies = [1, 2].map(() => channel.call((id) => sentIds.push(id)))
    channel.resolve(sentIds[1] ?? 0, 'second')
    channel.resolve(sentIds[0] ?? 0, 'first')
    expect(await Promise.all(replies)).toEqual(['first', 'second'])
  })

  test('timeout - undefined; a late reply is ignored', async () => {
    const clock = createFakeClock(0)
    const channel = createRpcChannel({ clock, timeoutMs: 100 })
    let sentId = 0
    const reply = channel.call((id) => (sentId = id))
    clock.advance(100)
    expect(await reply).toBeUndefined()
    channel.resolve(sentId, 'late')
  })

  test('other side ends - pending calls resolve at once, and no further call is sent', async () => {
    const clock = createFakeClock(0)
    const end = new AbortController()
    const channel = createRpcChannel({ clock, timeoutMs: 100, endSignal: end.signal })
    const sentIds: number[] = []
    const replies = [1, 2].map(() => channel.call((id) => sentIds.push(id)))
    end.abort()
    expect(await Promise.all(replies)).toEqual([undefined, undefined])
    expect(await channel.call((id) => sentIds.push(id))).toBeUndefined()
    expect(sentIds).toHaveLength(2)
    expect(clock.pendingWaits).toBe(0)
  })
})
