import { writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test, vi } from 'vitest'
import { addCleanup, setUpOnce } from '../../helpers/cleanup.ts'
import { makeFolder, makeSettings } from '../../cli/run-cli.ts'
import { requestOutcome, isAlive, fetchText, startCluster, sumSeries } from './cluster-server.ts'

/** An answer that never ends, to whoever asks with this word. */
const ENDLESS_RESPONSE_MODULE = `
import { channel } from 'node:diagnostics_channel'
channel('http.server.request.start').subscribe(({ request, response }) => {
  if (request.url.includes('endless')) response.end = () => response
})
`

/** The two limits pass at the same time: each is some nine seconds of a server of its own. */
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
  // One connection, so that the worker that counts is the one that is held up.
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

test('reload, an answer that never ends - the worker is given its time, and what it counted stays in the sums', () => {
  const { outcomes, shown } = getResults().reloaded
  expect(outcomes).toEqual([...Array.from({ length: 20 }, () => '200 shown'), 'ECONNRESET'])
  expect(shown).toBe(20)
})

test('SIGTERM, a worker that hangs - is killed before the primary ends, and does not stay behind', async () => {
  const { code, workers } = getResults().hung
  expect(code).toBe(0)
  await vi.waitFor(() => expect(workers.filter(isAlive)).toEqual([]))
})
