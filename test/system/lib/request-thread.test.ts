import { expect, onTestFinished, test } from 'vitest'
import { StoreError } from '../../../src/errors.ts'
import { type RequestThread, createRequestThread } from '../../../src/lib/request-thread.ts'

function open(): RequestThread {
  const thread = createRequestThread('../test/system/lib/request-thread.mjs', { name: 'data of the thread' })
  onTestFinished(() => thread.close())
  return thread
}

test('requests - run in one thread, in order, with its data', async () => {
  const thread = open()
  expect(
    await Promise.all([thread.request('count'), thread.request('data'), thread.request('count')]),
  ).toEqual([1, { name: 'data of the thread' }, 2])
})

test('request that fails - has the error of the thread, which continues', async () => {
  const thread = open()
  const error: unknown = await thread.request('fail').catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(StoreError)
  expect(error).toHaveProperty('message', 'no disk')
  expect(await thread.request('count')).toBe(1)
})

test('thread that crashes - fails its request; the requests behind it run in a new thread', async () => {
  const thread = open()
  expect(await thread.request('count')).toBe(1)
  const results = await Promise.allSettled([
    thread.request('crash'),
    thread.request('count'),
    thread.request('count'),
  ])
  expect(results).toMatchObject([{ status: 'rejected' }, { value: 1 }, { value: 2 }])
})

test('close - runs the pending requests, and refuses later ones', async () => {
  const thread = open()
  await thread.request('count')
  const pending = Promise.all([thread.request('count'), thread.request('count')])
  await thread.close()
  expect(await pending).toEqual([2, 3])
  await expect(thread.request('count')).rejects.toThrow('closed')
})
