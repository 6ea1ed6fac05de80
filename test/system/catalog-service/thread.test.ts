import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import { makeFolder, makeSettings, runBuilt, startBuilt } from '../../cli/run-cli.ts'
import { requestOutcome, fetchText, startCluster } from '../cluster/cluster-server.ts'
import { requestValidated } from '../../catalog-service/openapi-validation.ts'

/** Write a module that records key and port of the catalog thread, and makes it throw when the trigger file appears. */
function createCrashScript(
  folder: string,
): Readonly<{ triggerFile: string; reportFile: string; NODE_OPTIONS: string }> {
  const file = join(folder, 'bomb.mjs')
  const triggerFile = join(folder, 'trigger')
  const reportFile = join(folder, 'report')
  writeFileSync(
    file,
    `import { existsSync, rmSync, appendFileSync } from 'node:fs'
     import { workerData } from 'node:worker_threads'
     if (workerData?.key !== undefined && workerData.port !== undefined) {
       appendFileSync(${JSON.stringify(reportFile)}, workerData.key + ' ' + workerData.port + '\\n')
       setInterval(() => {
         if (!existsSync(${JSON.stringify(triggerFile)})) return
         rmSync(${JSON.stringify(triggerFile)})
         throw new Error('boom ' + workerData.key)
       }, 20)
     }`,
  )
  return { triggerFile, reportFile, NODE_OPTIONS: `--import ${pathToFileURL(file).href}` }
}

/** Products are stale after a second. The first look-up of a process may be slow on a busy machine. */
const SHORT_FRESHNESS = {
  VITRINE_FRESH_SECONDS: '1',
  VITRINE_STALE_SECONDS: '1',
  VITRINE_SYNC_CRON: 'off',
  VITRINE_VISITOR_TIMEOUT_MS: '10000',
}

describe('embedded catalog in its thread', () => {
  test.each(['1', '2'])(
    'uncaught error in the thread, %s process(es) - is logged without the key, and the catalog restarts on the same port',
    async (workers) => {
      const folder = makeFolder()
      const { triggerFile, reportFile, NODE_OPTIONS } = createCrashScript(folder)
      const settings = { ...SHORT_FRESHNESS, NODE_OPTIONS, VITRINE_WORKERS: workers }
      const server = await startCluster(makeSettings(folder, settings))
      const box = `${server.publicUrl}/fragments/952a0000-0000-4000-8000-000000000001/where-to-buy/09520001001024`
      expect(await requestOutcome(box)).toBe('200 shown')
      writeFileSync(triggerFile, '')
      await vi.waitFor(() =>
        expect(server.findLogLines('embedded catalog exited unexpectedly')).toHaveLength(1),
      )
      const readReports = (): string[][] =>
        readFileSync(reportFile, 'utf8')
          .trim()
          .split('\n')
          .map((line) => line.split(' '))
      await vi.waitFor(() => expect(readReports()).toHaveLength(2))
      const [[key = '', firstPort] = [], [secondKey, secondPort] = []] = readReports()
      expect([secondKey, firstPort]).toEqual([key, '0'])
      expect(Number(secondPort)).toBeGreaterThan(0)
      const requestChannels = (): Promise<unknown> =>
        Promise.resolve(
          requestValidated(`http://127.0.0.1:${secondPort}`)
            .get('/v0/channels')
            .set('Authorization', `Bearer ${key}`)
            .set('Connection', 'close')
            .expect(200),
        )
      // A look-up before the catalog listens would fail and delay the next one.
      await vi.waitFor(requestChannels)
      // A product that has not been requested yet is looked up in the restarted catalog.
      const otherBox = box.replace('09520001001024', '09520001001031')
      await vi.waitFor(async () => expect(await requestOutcome(otherBox)).toMatch(/^200 (?:shown|hidden)$/))
      await vi.waitFor(() => expect(server.findLogLines('boom')).toMatchObject([{ level: 50 }]))
      expect((await server.running.stop('SIGINT')).code).toBe(0)
      expect(server.running.output()).not.toContain(key)
    },
  )

  test('key - does not appear in command lines, environments, pages or logs', async () => {
    const folder = makeFolder()
    const { reportFile, NODE_OPTIONS } = createCrashScript(folder)
    const server = await startCluster(makeSettings(folder, { NODE_OPTIONS }))
    const [key = ''] = readFileSync(reportFile, 'utf8').split(' ')
    expect(key).toMatch(/^[\w-]{43}$/)
    const pids = [server.primaryPid, ...server.workerPids()]
    expect(pids).toHaveLength(3)
    for (const pid of pids)
      for (const name of ['cmdline', 'environ'].filter((file) => existsSync(`/proc/${pid}/${file}`)))
        expect(readFileSync(`/proc/${pid}/${name}`, 'utf8')).not.toContain(key)
    for (const page of ['/metrics', '/readyz', '/studio'])
      expect(await fetchText(server.publicUrl + page)).not.toContain(key)
    expect(server.running.output()).not.toContain(key)
  })

  test('database that cannot be opened - prints the error of the database and exits with 1', async () => {
    const folder = makeFolder()
    writeFileSync(
      join(folder, 'catalog.db'),
      'no database at all, but long enough to look like one'.repeat(40),
    )
    const { code, out } = await runBuilt(['check'], makeSettings(folder))
    expect(code).toBe(1)
    expect(out).toMatch(/WRONG {2}catalog service: .*file is not a database \(VITRINE_STORE_FAILED\)/)
  })

  test('only sample data - the studio shows a notice until a feed is imported', async () => {
    const folder = makeFolder()
    const settings = makeSettings(folder)
    const running = startBuilt(['serve', '--json'], settings)
    const { studio } = JSON.parse(await running.firstLine) as { studio: string }
    expect(await fetchText(studio)).toContain('Sample data: invented')
    const feed = join(folder, 'feed.ndjson')
    const offer = {
      merchant: { name: 'Kopje' },
      network: 'brightlink',
      price: '49.90',
      currency: 'EUR',
      availability: 'in_stock',
      affiliate_url: 'https://links.example/c',
    }
    const product = { gtin: '09521234567899', title: 'Lamp', brand: null, images: [], offers: [offer] }
    writeFileSync(feed, `${JSON.stringify(product)}\n`)
    expect(await runBuilt(['catalog', 'import', feed], settings)).toMatchObject({ code: 0 })
    expect(await fetchText(studio)).not.toContain('Sample data: invented')
  })
})
