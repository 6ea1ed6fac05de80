import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { createFairQueue } from '../../src/lib/fair-queue.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { defer } from '../helpers/defer.ts'

const visitor = (name: string) => ({ visitor: name, timeoutMs: 10 })

const inGroups = (...names: readonly string[]) => ({
  ...visitor('a'),
  getGroups: () => names.map((name) => ({ name, parallelTasks: 1 })),
})

describe('fair queue', () => {
  test('several tasks - run one at a time, alternating between visitors', async () => {
    const queue = createFairQueue(createFakeClock(0))
    const order: string[] = []
    let running = 0
    const run = (who: string, name: string): Promise<string> =>
      queue.run(visitor(who), async () => {
        order.push(name)
        expect((running += 1)).toBe(1)
        await setImmediate()
        running -= 1
        return name
      })
    const names = await Promise.all([
      run('a', 'a1'),
      run('a', 'a2'),
      run('a', 'a3'),
      run('b', 'b1'),
      run('b', 'b2'),
    ])
    expect(names).toEqual(['a1', 'a2', 'a3', 'b1', 'b2'])
    expect(order).toEqual(['a1', 'a2', 'b1', 'a3', 'b2'])
  })

  test('several at once - as many tasks run as allowed, and the next one starts when one ends', async () => {
    const limits = { parallelTasks: 3, maxWaiting: 9, maxWaitingPerVisitor: 9 }
    const queue = createFairQueue(createFakeClock(0), limits)
    const reads = Array.from({ length: 5 }, () => defer<number>())
    const started: number[] = []
    const tasks = reads.map((read, index) =>
      queue.run(visitor('a'), () => {
        started.push(index)
        return read.promise
      }),
    )
    await setImmediate()
    expect(started).toEqual([0, 1, 2])
    reads[1]?.resolve(1)
    expect(await tasks[1]).toBe(1)
    await setImmediate()
    expect(started).toEqual([0, 1, 2, 3])
    for (const [index, read] of reads.entries()) read.resolve(index)
    expect(await Promise.all(tasks)).toEqual([0, 1, 2, 3, 4])
  })

  test('group with as many tasks as allowed - others go first, its next one starts when one ends', async () => {
    const limits = { parallelTasks: 3, maxWaiting: 9, maxWaitingPerVisitor: 9 }
    const queue = createFairQueue(createFakeClock(0), limits)
    const reads = new Map(['x1', 'x2', 'x3', 'y1', 'y2'].map((name) => [name, defer<string>()]))
    const started: string[] = []
    const tasks = [...reads].map(([name, read]) =>
      queue.run(inGroups(name.slice(0, 1)), () => {
        started.push(name)
        return read.promise
      }),
    )
    await setImmediate()
    expect(started).toEqual(['x1', 'y1'])
    reads.get('x1')?.resolve('x1')
    await setImmediate()
    expect(started).toEqual(['x1', 'y1', 'x2'])
    for (const [name, read] of reads) read.resolve(name)
    expect(await Promise.all(tasks)).toEqual(['x1', 'x2', 'x3', 'y1', 'y2'])
  })

  test('task of two groups - waits for both', async () => {
    const limits = { parallelTasks: 3, maxWaiting: 9, maxWaitingPerVisitor: 9 }
    const queue = createFairQueue(createFakeClock(0), limits)
    const reads = new Map(['x', 'y', 'xy', 'z'].map((name) => [name, defer<string>()]))
    const started: string[] = []
    const tasks = [...reads].map(([name, read]) =>
      queue.run(inGroups(...name.split('')), () => {
        started.push(name)
        return read.promise
      }),
    )
    await setImmediate()
    expect(started).toEqual(['x', 'y', 'z'])
    reads.get('x')?.resolve('x')
    await setImmediate()
    expect(started).toHaveLength(3)
    reads.get('y')?.resolve('y')
    await setImmediate()
    expect(started).toEqual(['x', 'y', 'z', 'xy'])
    for (const [name, read] of reads) read.resolve(name)
    await Promise.all(tasks)
  })

  test('tasks whose group gets more places - all of them start when one ends', async () => {
    const limits = { parallelTasks: 3, maxWaiting: 9, maxWaitingPerVisitor: 9 }
    const queue = createFairQueue(createFakeClock(0), limits)
    const reads = Array.from({ length: 4 }, () => defer<number>())
    let parallelTasks = 1
    const started: number[] = []
    const place = { ...visitor('a'), getGroups: () => [{ name: 'x', parallelTasks }] }
    const tasks = reads.map((read, index) =>
      queue.run(place, () => {
        started.push(index)
        return read.promise
      }),
    )
    await setImmediate()
    expect(started).toEqual([0])
    parallelTasks = 9
    reads[0]?.resolve(0)
    await setImmediate()
    expect(started).toEqual([0, 1, 2, 3])
    for (const [index, read] of reads.entries()) read.resolve(index)
    await Promise.all(tasks)
  })

  test('task that fails - rejects only for its caller', async () => {
    const queue = createFairQueue(createFakeClock(0))
    const failed = queue.run(visitor('a'), () => Promise.reject(new Error('broken')))
    const after = queue.run(visitor('a'), () => Promise.resolve('fine'))
    await expect(failed).rejects.toThrow('broken')
    expect(await after).toBe('fine')
  })

  test('timeout - a waiting task is rejected and never runs; the queue continues', async () => {
    const clock = createFakeClock(0)
    const queue = createFairQueue(clock)
    const read = defer<string>()
    const remaining: number[] = []
    const slow = queue.run(visitor('a'), (leftMs) => (remaining.push(leftMs), read.promise))
    let isRun = false
    const late = queue.run(visitor('a'), () => Promise.resolve((isRun = true)))
    clock.advance(10)
    await expect(slow).rejects.toMatchObject({ code: 'VITRINE_UNAVAILABLE' })
    await expect(late).rejects.toMatchObject({ code: 'VITRINE_UNAVAILABLE' })
    const next = queue.run(visitor('b'), () => Promise.resolve('in time'))
    read.resolve('too late')
    expect(await next).toBe('in time')
    expect([remaining, isRun]).toEqual([[10], false])
  })

  test('one visitor with many tasks - is rejected before others', async () => {
    const queue = createFairQueue(createFakeClock(0))
    const read = defer<string>()
    const run = (who: string): Promise<string> => queue.run(visitor(who), () => read.promise)
    // One task runs, and 32 wait.
    const accepted = Array.from({ length: 33 }, () => run('a'))
    await expect(run('a')).rejects.toMatchObject({ code: 'VITRINE_UNAVAILABLE' })
    const others = ['b', 'c', 'd'].flatMap((who) => Array.from({ length: 32 }, () => run(who)))
    const late = run('e')
    await expect(accepted.at(-1)).rejects.toMatchObject({ code: 'VITRINE_UNAVAILABLE' })
    read.resolve('read')
    const rest = [...accepted.slice(0, -1), ...others, late]
    expect(new Set(await Promise.all(rest))).toEqual(new Set(['read']))
  })

  test('full queue - a visitor whose line is the longest loses, not one who comes later', async () => {
    const queue = createFairQueue(createFakeClock(0), {
      parallelTasks: 1,
      maxWaiting: 3,
      maxWaitingPerVisitor: 3,
    })
    const read = defer<string>()
    const run = (who: string): Promise<string> => queue.run(visitor(who), () => read.promise)
    const [running, first, second, newest] = [run('a'), run('a'), run('a'), run('a')]
    const late = run('b')
    await expect(newest).rejects.toMatchObject({ code: 'VITRINE_UNAVAILABLE' })
    await expect(run('a')).rejects.toMatchObject({ code: 'VITRINE_UNAVAILABLE' })
    read.resolve('read')
    expect(await Promise.all([running, first, second, late])).toEqual(Array(4).fill('read'))
  })
})

/** Create a queue whose tasks do not end: `run` adds a task, and `finish` ends all. */
function createSharedQueue(maxWaiting: number) {
  const limits = { parallelTasks: 1, maxWaiting, maxWaitingPerVisitor: maxWaiting }
  const queue = createFairQueue(createFakeClock(0), limits)
  const read = defer<string>()
  const run = (who: string, key: string): Promise<string> =>
    queue.run({ ...visitor(who), key }, () => read.promise)
  return { run, finish: () => read.resolve('read') }
}

describe('shared tasks', () => {
  test('same key - one task, whose result all callers get; a later call starts a new one', async () => {
    const queue = createFairQueue(createFakeClock(0))
    let count = 0
    const run = (who: string, key: string): Promise<number> =>
      queue.run({ ...visitor(who), key }, async () => {
        await setImmediate()
        return (count += 1)
      })
    expect(await Promise.all([run('a', 'x'), run('b', 'x'), run('a', 'x'), run('a', 'y')])).toEqual([
      1, 1, 1, 2,
    ])
    expect(await run('a', 'x')).toBe(3)
  })

  test('key that a visitor with many tasks asked for first - starts at the turn of another caller', async () => {
    const queue = createFairQueue(createFakeClock(0))
    const read = defer<string>()
    const order: string[] = []
    const run = (who: string, key: string): Promise<string> =>
      queue.run({ ...visitor(who), key }, () => {
        order.push(key)
        return read.promise
      })
    const results = ['a0', 'a1', 'a2', 'a3', 'both'].map((key) => run('a', key))
    results.push(run('b', 'both'))
    read.resolve('read')
    await Promise.all(results)
    expect(order).toEqual(['a0', 'a1', 'both', 'a2', 'a3'])
  })

  test('full queue - callers of a waiting task are accepted', async () => {
    const { run, finish } = createSharedQueue(1)
    const results = [run('a', 'running'), run('a', 'x'), run('b', 'x'), run('a', 'x'), run('b', 'running')]
    await expect(run('b', 'y')).rejects.toMatchObject({ code: 'VITRINE_UNAVAILABLE' })
    finish()
    expect(await Promise.all(results)).toEqual(Array(5).fill('read'))
  })

  test('full queue of two visitors who share all tasks - both lose to a third', async () => {
    const { run, finish } = createSharedQueue(3)
    const kept = [run('a', 'running')]
    const lost: Promise<string>[] = []
    for (const key of ['x', 'y', 'z'])
      for (const who of ['a', 'b']) (key === 'z' ? lost : kept).push(run(who, key))
    kept.push(run('c', 'own'))
    for (const one of lost) await expect(one).rejects.toMatchObject({ code: 'VITRINE_UNAVAILABLE' })
    await expect(run('a', 'more')).rejects.toMatchObject({ code: 'VITRINE_UNAVAILABLE' })
    finish()
    expect(new Set(await Promise.all(kept))).toEqual(new Set(['read']))
  })

  test('full queue - a task that a visitor with a short line waits for is kept', async () => {
    const { run, finish } = createSharedQueue(3)
    const kept = [run('a', 'running'), run('a', 'x')]
    const lost = run('a', 'y')
    kept.push(run('a', 'shared'), run('b', 'shared'), run('c', 'own'))
    await expect(lost).rejects.toMatchObject({ code: 'VITRINE_UNAVAILABLE' })
    finish()
    expect(new Set(await Promise.all(kept))).toEqual(new Set(['read']))
  })

  test('full queue whose longest line is shared with short ones - the next line loses', async () => {
    const { run, finish } = createSharedQueue(5)
    const kept = [run('a', 'running')]
    for (const key of ['x', 'y', 'z']) kept.push(run('a', key), run(`only ${key}`, key))
    kept.push(run('b', 'b1'))
    const lost = run('b', 'b2')
    kept.push(run('c', 'own'))
    await expect(lost).rejects.toMatchObject({ code: 'VITRINE_UNAVAILABLE' })
    finish()
    expect(new Set(await Promise.all(kept))).toEqual(new Set(['read']))
  })

  test('first caller out of time - the task runs for the next one, with the time that it has left', async () => {
    const clock = createFakeClock(0)
    const queue = createFairQueue(clock)
    const read = defer<string>()
    const running = queue.run({ visitor: 'a', timeoutMs: 100 }, () => read.promise)
    const remaining: number[] = []
    const run = (timeoutMs: number): Promise<string> =>
      queue.run({ visitor: 'a', timeoutMs, key: 'x' }, (leftMs) => {
        remaining.push(leftMs)
        return Promise.resolve('x')
      })
    const [short, long] = [run(10), run(30)]
    clock.advance(10)
    await expect(short).rejects.toMatchObject({ code: 'VITRINE_UNAVAILABLE' })
    read.resolve('read')
    expect([await running, await long, remaining]).toEqual(['read', 'x', [20]])
  })

  test('all callers gone - the task never runs', async () => {
    const queue = createFairQueue(createFakeClock(0))
    const read = defer<string>()
    const running = queue.run(visitor('a'), () => read.promise)
    const started: string[] = []
    const run = (key: string, isGone: boolean): Promise<unknown> =>
      queue.run({ ...visitor('b'), key, isGone: () => isGone }, () => started.push(key))
    const gone = [run('x', true), run('x', true)]
    const wanted = [run('y', true), run('y', false)]
    read.resolve('read')
    await Promise.all([running, ...wanted])
    for (const one of gone) await expect(one).rejects.toMatchObject({ code: 'VITRINE_UNAVAILABLE' })
    expect(started).toEqual(['y'])
  })
})
