import { writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test, vi } from 'vitest'
import { addCleanup, setUpOnce } from '../../helpers/cleanup.ts'
import { makeFolder, makeSettings } from '../../cli/run-cli.ts'
import { requestOutcome, isAlive, fetchText, startCluster, sumSeries } from './cluster-server.ts'

/** Never end the response to a request whose URL contains `endless`. */
const ENDLESS_RESPONSE_MODULE = `
import { channel } from 'node:diagnostics_channel'
channel('http.server.request.start').subscribe(({ request, response }) => {
  if (request.url.includes('endless')) response.end = () => response
})
`

/** Run both cases concurrently, each with its own server, because each timeout is about nine seconds. */
const getResults = setUpOnce(async () => {
  const [reloaded, hung] = await Promise.all([reloadWithEndlessResponse(), stopWithHungWorker()])
  return { reloaded, hung }
})

async function reloadWithEndlessResponse(): Promise<
  Readonly<{ outcomes: readonly string[]; shown: number }>
> {
  const folder = makeFolder()
  const file = join(folder, 'endless.mjs')
  writeFileSync(file, ENDLESS_RESPONSE_MODULE)
  const NODE_OPTIONS = `--import ${pathToFileURL(file).href}`
  const server = await startCluster(makeSettings(folder, { NODE_OPTIONS }))
  // One connection, so that the same worker counts the boxes and has the endless response.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  addCleanup(() => agent.destroy())
  const outcomes: string[] = []
  for (let visit = 0; visit < 20; visit += 1) outcomes.push(await requestOutcome(server.box ?? '', agent))
  const endlessOutcome = requestOutcome(`${server.publicUrl}/healthz?endless`, agent)
  server.running.child.kill('SIGHUP')
  await vi.waitFor(() => expect(server.findLogLines('all workers were replaced')).toHaveLength(1))
  outcomes.push(await endlessOutcome)
  const page = await fetchText(`${server.publicUrl}/metrics`)
  return { outcomes, shown: sumSeries(page, 'vitrine_http_responses_total', 'state="shown"') }
}

async function stopWithHungWorker(): Promise<Readonly<{ code: number | null; workers: readonly number[] }>> {
  const server = await startCluster()
  const workers = server.workerPids()
  const [hung = 0] = workers
  process.kill(hung, 'SIGSTOP')
  return { code: (await server.running.stop('SIGTERM')).code, workers }
}

test('reload, a response that never ends - the worker is stopped after a timeout, and its counts stay in the sums', () => {
  const { outcomes, shown } = getResults().reloaded
  expect(outcomes).toEqual([...Array.from({ length: 20 }, () => '200 shown'), 'ECONNRESET'])
  expect(shown).toBe(20)
})

test('SIGTERM, a hanging worker - is killed before the primary exits', async () => {
  const { code, workers } = getResults().hung
  expect(code).toBe(0)
  await vi.waitFor(() => expect(workers.filter(isAlive)).toEqual([]))
})
