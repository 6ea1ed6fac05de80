import { writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { makeFolder, makeSettings } from '../../commands/cli-harness.ts'
import { ask, isAlive, read, startFleet, sumSeries } from './fleet-harness.ts'

/** An answer that never ends, to whoever asks with this word. */
const ENDLESS = `
import { channel } from 'node:diagnostics_channel'
channel('http.server.request.start').subscribe(({ request, response }) => {
  if (request.url.includes('endless')) response.end = () => response
})
`

test('reload, an answer that never ends - the worker is given its time, and what it counted stays in the sums', async () => {
  const folder = makeFolder()
  const file = join(folder, 'endless.mjs')
  writeFileSync(file, ENDLESS)
  const NODE_OPTIONS = `--import ${pathToFileURL(file).href}`
  const fleet = await startFleet(makeSettings(folder, { NODE_OPTIONS }))
  // One connection, so that the worker that counts is the one that is held up.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  for (let visit = 0; visit < 20; visit += 1) expect(await ask(fleet.box ?? '', agent)).toBe('200 shown')
  const endless = ask(`${fleet.publicUrl}/healthz?endless`, agent)
  fleet.running.child.kill('SIGHUP')
  await vi.waitFor(() => expect(fleet.lines('every worker was replaced')).toHaveLength(1), {
    timeout: 60_000,
  })
  expect(await endless).toBe('ECONNRESET')
  const page = await read(`${fleet.publicUrl}/metrics`)
  expect(sumSeries(page, 'vitrine_answers_total', 'state="shown"')).toBe(20)
})

test('SIGTERM, a worker that hangs - is killed before the primary ends, and does not stay behind', async () => {
  const fleet = await startFleet()
  const workers = fleet.workerPids()
  const [hung = 0] = workers
  process.kill(hung, 'SIGSTOP')
  expect((await fleet.running.stop('SIGTERM')).code).toBe(0)
  await vi.waitFor(() => expect(workers.filter(isAlive)).toEqual([]))
})
