import { workerData } from 'node:worker_threads'
import { StoreError } from '../../../dist/errors.js'
import { serveRequests } from '../../../dist/lib/request-thread.js'

let count = 0

const handlers = {
  count: () => (count += 1),
  data: () => workerData,
  fail: () => Promise.reject(new StoreError('no disk')),
  crash: () => void setImmediate(() => process.exit()),
}

/** `crash` never responds. */
serveRequests(
  (request) =>
    request === 'crash'
      ? new Promise(handlers.crash)
      : Promise.resolve(request).then((name) => handlers[name]()),
  async () => {},
)
