import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createErrorHandler } from '../../src/routes/failures.ts'
import { startHarness } from '../app/app-client.ts'

test('error after the headers were sent - one log line, no other output, and the connection ends', async () => {
  const harness = await startHarness()
  const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => printed.mockRestore())
  const app = express()
  // Express prints nothing in tests.
  app.set('env', 'production')
  app.get('/', (_request, response) => {
    response.writeHead(200, { 'Content-Length': '10' }).write('half')
    throw new TypeError('x is not a function')
  })
  app.use(createErrorHandler(harness.context, { findOpenStudioUrl: () => null }))
  const server = app.listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  // Cut off before or after its headers arrived.
  await expect(fetch(`http://127.0.0.1:${port}/`).then((response) => response.text())).rejects.toThrow(
    /fetch failed|terminated/,
  )
  expect(harness.logs()).toContain('x is not a function')
  expect(printed).not.toHaveBeenCalled()
})
