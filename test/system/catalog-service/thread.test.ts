import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import { makeFolder, makeSettings, runBuilt, startBuilt } from '../../cli/run-cli.ts'
import { requestOutcome as askFleet, fetchText, startCluster } from '../cluster/cluster-server.ts'
import { requestValidated } from '../../catalog-service/openapi-validation.ts'

/** Loaded into every thread: tells the key and port of the catalog's own, and makes it throw when the fuse is there. */
function createCrashScript(
  folder: string,
): Readonly<{ triggerFile: string; reportFile: string; NODE_OPTIONS: string }> {
  const file = join(folder, 'bomb.mjs')
  const triggerFile = join(folder, 'fuse')
  const reportFile = join(folder, 'told')
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

/** A first look-up of a process may take its time on a busy machine. */
const LOOK_UP_AGAIN = {
  VITRINE_FRESH_SECONDS: '1',
  VITRINE_STALE_SECONDS: '1',
  VITRINE_SYNC_CRON: 'off',
  VITRINE_VISITOR_TIMEOUT_MS: '10000',
}

describe('embedded catalog in a thread of its own', () => {
  test.each(['1', '2'])(
    'error that nobody catches there, %s process(es) - is logged without the key, and the same address answers again',
    async (workers) => {
      const folder = makeFolder()
      const { triggerFile, reportFile, NODE_OPTIONS } = createCrashScript(folder)
      const settings = { ...LOOK_UP_AGAIN, NODE_OPTIONS, VITRINE_WORKERS: workers }
      const fleet = await startCluster(makeSettings(folder, settings))
      const box = `${fleet.publicUrl}/fragments/952a0000-0000-4000-8000-000000000001/where-to-buy/09520001001024`
      expect(await askFleet(box)).toBe('200 shown')
      writeFileSync(triggerFile, '')
      await vi.waitFor(() =>
        expect(fleet.findLogLines('embedded catalog exited unexpectedly')).toHaveLength(1),
      )
      const lives = (): string[][] =>
        readFileSync(reportFile, 'utf8')
          .trim()
          .split('\n')
          .map((line) => line.split(' '))
      await vi.waitFor(() => expect(lives()).toHaveLength(2))
      const [[key = '', firstPort] = [], [secondKey, secondPort] = []] = lives()
      expect([secondKey, firstPort]).toEqual([key, '0'])
      expect(Number(secondPort)).toBeGreaterThan(0)
      const there = (): Promise<unknown> =>
        Promise.resolve(
          requestValidated(`http://127.0.0.1:${secondPort}`)
            .get('/v0/channels')
            .set('Authorization', `Bearer ${key}`)
            .set('Connection', 'close')
            .expect(200),
        )
      // A look-up that comes before it listens would make the server wait before the next one.
      await vi.waitFor(there)
      // A product that nobody asked for yet is looked up there.
      const other = box.replace('09520001001024', '09520001001031')
      await vi.waitFor(async () => expect(await askFleet(other)).toMatch(/^200 (?:shown|hidden)$/))
      await vi.waitFor(() => expect(fleet.findLogLines('boom')).toMatchObject([{ level: 50 }]))
      expect((await fleet.running.stop('SIGINT')).code).toBe(0)
      expect(fleet.running.output()).not.toContain(key)
    },
  )

  test('key - is in no command line, no environment and no line of any process', async () => {
    const folder = makeFolder()
    const { reportFile, NODE_OPTIONS } = createCrashScript(folder)
    const fleet = await startCluster(makeSettings(folder, { NODE_OPTIONS }))
    const [key = ''] = readFileSync(reportFile, 'utf8').split(' ')
    expect(key).toMatch(/^[\w-]{43}$/)
    const pids = [fleet.primaryPid, ...fleet.workerPids()]
    expect(pids).toHaveLength(3)
    for (const pid of pids)
      for (const name of ['cmdline', 'environ'].filter((file) => existsSync(`/proc/${pid}/${file}`)))
        expect(readFileSync(`/proc/${pid}/${name}`, 'utf8')).not.toContain(key)
    for (const page of ['/metrics', '/readyz', '/studio'])
      expect(await fetchText(fleet.publicUrl + page)).not.toContain(key)
    expect(fleet.running.output()).not.toContain(key)
  })

  test('database that cannot be opened - the reason in the words of the database, 1', async () => {
    const folder = makeFolder()
    writeFileSync(
      join(folder, 'catalog.db'),
      'no database at all, but long enough to look like one'.repeat(40),
    )
    const { code, out } = await runBuilt(['check'], makeSettings(folder))
    expect(code).toBe(1)
    expect(out).toMatch(/WRONG {2}catalog service: .*file is not a database \(VITRINE_STORE_FAILED\)/)
  })

  test('sample data alone - is said by the studio until something else is imported', async () => {
    const folder = makeFolder()
    const settings = makeSettings(folder)
    const running = startBuilt(['serve', '--json'], settings)
    const { studio } = JSON.parse(await running.firstLine) as { studio: string }
    expect(await fetchText(studio)).toContain('The server shows sample data')
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
    expect(await fetchText(studio)).not.toContain('The server shows sample data')
  })
})
