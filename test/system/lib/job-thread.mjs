import { FeedFetchError, StoreError } from '../../../dist/errors.js'
import { serveJob } from '../../../dist/lib/thread.js'

const JOBS = {
  async echo({ data, sendProgress }) {
    sendProgress('half')
    return data
  },
  async continue({ firstMessage, sendProgress }) {
    sendProgress('waiting')
    return (await firstMessage)[0]
  },
  async stop({ signal, sendProgress }) {
    sendProgress('started')
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    sendProgress('stopping')
    return 'stopped'
  },
  async hang({ sendProgress }) {
    sendProgress('started')
    await new Promise(() => {})
  },
  async block({ sendProgress }) {
    sendProgress('started')
    for (;;);
  },
  async fail() {
    throw new StoreError('no disk', { remedy: 'Mount it.', cause: new Error('secret') })
  },
  async failFetch() {
    throw new FeedFetchError('status 429', { retryAfterMs: 5_000 })
  },
  async crash() {
    throw new TypeError('damage')
  },
  async crashLater() {
    setImmediate(() => {
      throw new TypeError('late damage')
    })
    return 'done'
  },
  async stayOpen({ sendProgress }) {
    sendProgress('started')
    setInterval(() => {}, 1_000)
    return 'done'
  },
  async exit() {
    process.exit(1)
  },
}

// A thread for the tests of `runInThread`.
await serveJob((data, control) => JOBS[data.job]({ ...control, data }))
