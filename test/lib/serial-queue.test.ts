import { expect, test } from 'vitest'
import { createSerialQueue } from '../../src/lib/concurrency.ts'

test('tasks - run one at a time, in order of arrival', async () => {
  const queue = createSerialQueue()
  const events: string[] = []
  const run = (name: string): Promise<string> =>
    queue.run(async () => {
      events.push(`begin ${name}`)
      await Promise.resolve()
      events.push(`end ${name}`)
      return name
    })
  expect(await Promise.all([run('a'), run('b')])).toEqual(['a', 'b'])
  expect(events).toEqual(['begin a', 'end a', 'begin b', 'end b'])
})

test('task that fails - rejects only for its caller', async () => {
  const queue = createSerialQueue()
  const failed = queue.run(() => Promise.reject(new Error('first')))
  const next = queue.run(() => Promise.resolve('next'))
  await expect(failed).rejects.toThrow('first')
  expect(await next).toBe('next')
})
