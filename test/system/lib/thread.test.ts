import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import { SECOND_MS } from '../../../src/clock.ts'
import { FeedFetchError, StoreError } from '../../../src/errors.ts'
import { type Thread, openThread, runInThread } from '../../../src/lib/thread.ts'
import { createFakeClock } from '../../helpers/fake-clock.ts'

const SOURCE_FOLDER = fileURLToPath(new URL('../../../src', import.meta.url))

const JOB_THREAD = '../test/system/lib/job-thread.mjs'

function listMatches(pattern: RegExp): readonly (readonly [file: string, match: string | undefined])[] {
  return readdirSync(SOURCE_FOLDER, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && file !== 'lib/thread.ts')
    .flatMap((file) =>
      [...readFileSync(join(SOURCE_FOLDER, file), 'utf8').matchAll(pattern)].map(
        (match) => [file, match[1]] as const,
      ),
    )
}

const startedFiles = listMatches(/(?:runInThread|openThread|createRequestThread)[^(]*\(\s*'([^']+)'/g).map(
  ([, file = '']) => file,
)
const entryFiles = listMatches(/^await serveJob\(|workerData as/gm).map(([file]) => file)

test('threads - each file that the code starts is an entry point, and each entry point is started', () => {
  expect(startedFiles.toSorted()).toEqual(entryFiles.map((file) => file.replace(/ts$/, 'js')).toSorted())
  expect(startedFiles).toHaveLength(5)
})

test.each(startedFiles)('%s - is built, and starts to read its data', async (file) => {
  // All imports are loaded by then: a missing file would be another error.
  await expect(openThread(file, { data: null }).exitError).resolves.toBeInstanceOf(TypeError)
})

type Options = Partial<Parameters<typeof runInThread>[1]>

class CrashError extends Error {}

const run = (job: string, options: Options = {}): Promise<unknown> =>
  runInThread(JOB_THREAD, {
    data: { job },
    signal: new AbortController().signal,
    stopTimeoutMs: 2 * SECOND_MS,
    toError: (cause) => new CrashError('no result', { cause }),
    ...options,
  })

describe('job in a thread', () => {
  test('job that ends - its progress and result are received, and the ended thread ignores messages', async () => {
    const received: unknown[] = []
    let thread: Thread | undefined
    const result = await run('echo', {
      onProgress(progress, sender) {
        received.push(progress)
        thread = sender
      },
    })
    expect([received, result]).toEqual([['half'], { job: 'echo' }])
    expect(thread?.ended.aborted).toBe(true)
    thread?.send('too late')
    await expect(thread?.receive()).rejects.toThrow('aborted')
  })

  test('job that waits for its caller - continues after a message', async () => {
    const result = await run('continue', { onProgress: (_waiting, thread) => thread.send('go') })
    expect(result).toBe('go')
  })

  test.each([
    ['fail', StoreError, { code: 'VITRINE_STORE_FAILED', message: 'no disk', remedy: 'Mount it.' }],
    ['failFetch', FeedFetchError, { message: 'status 429', retryAfterMs: 5_000, remedy: null }],
  ] as const)(
    '%s: error of the project - has its class and properties, without the cause',
    async (...row) => {
      const [job, ErrorClass, properties] = row
      const error: unknown = await run(job).catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(ErrorClass)
      expect(error).toMatchObject(properties)
      expect(error).not.toHaveProperty('cause')
    },
  )

  test.each([
    ['crash', expect.objectContaining({ name: 'TypeError', message: 'damage' })],
    ['exit', undefined],
  ])('%s: thread that ends without a result - the error of the caller has the cause', async (job, cause) => {
    const error: unknown = await run(job).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(CrashError)
    expect(error).toHaveProperty('cause', cause)
  })
})

describe('thread after the result of its job', () => {
  test('crash - the result stays valid', async () => {
    expect(await run('crashLater')).toBe('done')
  })

  test('open handle - the thread is terminated after 2 s, and the result stays valid', async () => {
    const clock = createFakeClock(0)
    let thread: Thread | undefined
    const running = run('stayOpen', { clock, onProgress: (_started, sender) => void (thread = sender) })
    await vi.waitFor(() => expect(clock.pendingWaits).toBe(1))
    clock.advance(2 * SECOND_MS - 1)
    expect(thread?.ended.aborted).toBe(false)
    clock.advance(1)
    expect(await running).toBe('done')
  })
})

describe('stop of a job', () => {
  test('signal - the job ends by itself; its last progress and its result are received', async () => {
    const stopping = new AbortController()
    const received: unknown[] = []
    const result = await run('stop', {
      signal: stopping.signal,
      onProgress(progress) {
        received.push(progress)
        stopping.abort()
      },
    })
    expect([received, result]).toEqual([['started', 'stopping'], 'stopped'])
  })

  test('signal before the start - the job stops at once', async () => {
    expect(await run('continue', { signal: AbortSignal.abort() })).toBe('stop')
  })

  test.each(['hang', 'block'])('%s: job that does not stop - is terminated after 2 s', async (job) => {
    const clock = createFakeClock(0)
    const stopping = new AbortController()
    let thread: Thread | undefined
    const running = run(job, {
      clock,
      signal: stopping.signal,
      onProgress(_started, sender) {
        thread = sender
        stopping.abort()
      },
    })
    await vi.waitFor(() => expect(clock.pendingWaits).toBe(1))
    clock.advance(2 * SECOND_MS - 1)
    expect([clock.pendingWaits, thread?.ended.aborted]).toEqual([1, false])
    clock.advance(1)
    await expect(running).rejects.toThrow(CrashError)
    expect(clock.pendingWaits).toBe(0)
  })
})
