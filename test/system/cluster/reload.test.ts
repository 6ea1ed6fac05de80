import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import { computeCheckDigit } from '../../../src/offers/gtin.ts'
import { makeFolder, makeSettings, startRemote } from '../../cli/cli-harness.ts'
import { useOnce } from '../../helpers/at-end.ts'
import { CHANNEL_ID, sendJson } from '../../helpers/fake-catalog.ts'
import { type Fleet, ask, isAlive, startFleet, startVisitors, waitForAnswers } from './fleet-harness.ts'

const REPLACED = 'every worker was replaced'

/** Waits until this fleet has said so often more that every worker was replaced; `beside` is done at each look. */
async function waitForReloads(fleet: Fleet, before: number, beside?: () => void): Promise<void> {
  await vi.waitFor(() => {
    beside?.()
    expect(fleet.lines(REPLACED)).toHaveLength(before)
  })
}

describe('SIGHUP', () => {
  const getParts = useOnce(async () => {
    const folder = makeFolder()
    const [bomb, fuse] = [join(folder, 'bomb.mjs'), join(folder, 'fuse')]
    writeFileSync(
      bomb,
      `import { existsSync } from 'node:fs'
       if (process.argv[1].endsWith('worker.js') && existsSync(${JSON.stringify(fuse)})) process.exit(9)`,
    )
    const settings = makeSettings(folder, { NODE_OPTIONS: `--import ${pathToFileURL(bomb).href}` })
    return { fuse, fleet: await startFleet(settings) }
  })

  test('under load - every worker is replaced, no visitor loses an answer, and /readyz is 200 all the time', async () => {
    const { fleet } = getParts()
    const before = fleet.workerPids()
    expect(before).toHaveLength(2)
    const visitors = startVisitors(fleet.box ?? '')
    const balancer = startVisitors(`${fleet.publicUrl}/readyz`, 2)
    await waitForAnswers(visitors, 200)
    fleet.running.child.kill('SIGHUP')
    await waitForReloads(fleet, 1)
    await waitForAnswers(visitors, 200)
    await Promise.all([visitors.stop(), balancer.stop()])
    expect([...visitors.outcomes.keys()]).toEqual(['200 shown'])
    expect([...balancer.outcomes.keys()]).toEqual(['200 undefined'])
    expect(visitors.count()).toBeGreaterThan(400)
    const after = fleet.workerPids()
    expect(after).toHaveLength(2)
    expect(after.filter((pid) => before.includes(pid))).toEqual([])
    expect(before.filter(isAlive)).toEqual([])
  })

  test('twice in a row - one reload after the other, never more than one worker too many', async () => {
    const { fleet } = getParts()
    const reloads = fleet.lines(REPLACED).length
    const counts = new Set<number>()
    fleet.running.child.kill('SIGHUP')
    await vi.waitFor(() => expect(fleet.workerPids()).toHaveLength(3))
    fleet.running.child.kill('SIGHUP')
    await waitForReloads(fleet, reloads + 2, () => counts.add(fleet.workerPids().length))
    expect(Math.max(...counts)).toBeLessThanOrEqual(3)
    expect(fleet.workerPids()).toHaveLength(2)
  })

  test('new worker does not come up - the reload stops, the old ones go on, and the whole ends well', async () => {
    const { fleet, fuse } = getParts()
    const reloads = fleet.lines(REPLACED).length
    const before = fleet.workerPids()
    writeFileSync(fuse, '')
    const visitors = startVisitors(fleet.box ?? '')
    fleet.running.child.kill('SIGHUP')
    await vi.waitFor(() => expect(fleet.lines('the reload stops')).toHaveLength(1))
    await visitors.stop()
    expect([...visitors.outcomes.keys()]).toEqual(['200 shown'])
    expect(fleet.workerPids()).toEqual(before)
    expect(fleet.lines(REPLACED)).toHaveLength(reloads)
    expect((await fleet.running.stop('SIGTERM')).code).toBe(0)
  })
})

test('new key in its file, SIGHUP - every worker calls with it, without a 401', async () => {
  const folder = makeFolder()
  const { catalog, settings } = await startRemote(folder)
  const file = join(folder, 'key')
  writeFileSync(file, 'old-key-of-the-file')
  catalog.fault = {
    matches: /./,
    does: (call, response) =>
      call.url === '/v0/channels'
        ? sendJson(response, 200, { items: catalog.channels })
        : sendJson(response, 404, { error: 'none' }),
  }
  const fleet = await startFleet({
    ...settings,
    VITRINE_CATALOG_KEY: undefined,
    VITRINE_CATALOG_KEY_FILE: file,
    VITRINE_SYNC_CRON: 'off',
    // One after the other while workers are replaced, however long that takes.
    VITRINE_UNKNOWN_LOOKUPS_PER_HOUR: '1000000',
    // The first look-ups of new processes may take their time on a busy machine.
    VITRINE_VISITOR_TIMEOUT_MS: '10000',
  })
  let item = 100
  const lookUp = async (): Promise<void> => {
    const first13 = String(item++).padStart(13, '0')
    const gtin = `${first13}${computeCheckDigit(first13)}`
    expect(await ask(`${fleet.publicUrl}/fragments/${CHANNEL_ID}/where-to-buy/${gtin}`)).toBe('200 hidden')
  }
  await lookUp()
  expect(catalog.calls.at(-1)?.headers.authorization).toBe('Bearer old-key-of-the-file')
  writeFileSync(file, 'new-key-of-the-file')
  fleet.running.child.kill('SIGHUP')
  await vi.waitFor(() => expect(fleet.lines('it is another one now')).toHaveLength(1))
  // The workers have it a moment later.
  await vi.waitFor(async () => {
    await lookUp()
    expect(catalog.calls.at(-1)?.headers.authorization).toBe('Bearer new-key-of-the-file')
  })
  const seenBefore = catalog.calls.length
  // Old workers and new ones alike.
  while (fleet.lines(REPLACED).length === 0) await lookUp()
  const keys = new Set(catalog.calls.slice(seenBefore + 1).map(({ headers }) => headers.authorization))
  expect([...keys]).toEqual(['Bearer new-key-of-the-file'])
  expect(fleet.running.said()).not.toMatch(/(?:old|new)-key-of-the-file/)
})
