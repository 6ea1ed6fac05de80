import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import request from 'supertest'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type RunningCommand, makeFolder, startBuilt, startRemoteCatalog } from '../../cli/run-cli.ts'
import { CHANNEL_ID, FAKE_KEY, makeWireProduct, sendJson } from '../../helpers/fake-catalog.ts'

const GTIN = '09521234567899'
const PATH = `/fragments/${CHANNEL_ID}/where-to-buy/${GTIN}`

/** Loaded into the real program: throws an uncaught error when a signal arrives. */
const CRASH_MODULE = `
process.on('SIGUSR2', () => setImmediate(() => { throw new Error('boom ${FAKE_KEY}') }))
process.on('SIGUSR1', () => void Promise.reject(new Error('boom ${FAKE_KEY}')))
`

async function startCrashingServer(): Promise<{
  running: RunningCommand
  url: string
  pendingResponses: ServerResponse[]
}> {
  const folder = makeFolder()
  const modulePath = join(folder, 'bomb.mjs')
  writeFileSync(modulePath, CRASH_MODULE)
  const { catalog, settings } = await startRemoteCatalog(folder)
  const pendingResponses: ServerResponse[] = []
  onTestFinished(() => pendingResponses.forEach((response) => response.destroy()))
  catalog.fault = {
    pathPattern: /\/products\/\d/,
    respond: (_request, response) => void pendingResponses.push(response),
  }
  const running = startBuilt(['serve', '--json'], {
    ...settings,
    NODE_OPTIONS: `--import ${pathToFileURL(modulePath).href}`,
    VITRINE_SYNC_CRON: 'off',
    VITRINE_VISITOR_TIMEOUT_MS: '9000',
    VITRINE_CATALOG_TIMEOUT_MS: '9000',
  })
  const { publicUrl } = JSON.parse(await running.firstLine) as { publicUrl: string }
  return { running, url: publicUrl, pendingResponses }
}

test.each(['SIGUSR2', 'SIGUSR1'] as const)(
  'uncaught error (%s) - is logged without the key; the pending response completes; exit code 70',
  async (signal) => {
    const { running, url, pendingResponses } = await startCrashingServer()
    const response = request(url)
      .get(PATH)
      .then(({ status, headers }) => [status, headers['vitrine-state']])
    await vi.waitFor(() => expect(pendingResponses).toHaveLength(1))
    const closed = once(running.child, 'close')
    running.child.kill(signal)
    await vi.waitFor(() => expect(running.output()).toContain('boom'))
    for (const response of pendingResponses) sendJson(response, 200, makeWireProduct())
    expect(await response).toEqual([200, 'shown'])
    expect(await closed).toEqual([70, null])
    const line = running
      .output()
      .split('\n')
      .find((text) => text.includes('boom'))
    expect(JSON.parse(line ?? '')).toMatchObject({
      level: 60,
      err: { message: 'boom [redacted]', stack: expect.stringContaining('bomb.mjs') },
    })
    expect(running.output()).not.toContain(FAKE_KEY)
  },
)

test('second uncaught error - ends the process at once', async () => {
  const { running, url, pendingResponses } = await startCrashingServer()
  const response = request(url)
    .get(PATH)
    .catch((error: { code?: unknown }) => error.code)
  await vi.waitFor(() => expect(pendingResponses).toHaveLength(1))
  running.child.kill('SIGUSR2')
  await vi.waitFor(() => expect(running.output()).toContain('boom'))
  running.child.kill('SIGUSR2')
  expect(await response).toBe('ECONNRESET')
  await vi.waitFor(() => expect(running.child.exitCode).toBe(70))
})
