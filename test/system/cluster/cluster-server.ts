import { execFileSync } from 'node:child_process'
import { Agent, type IncomingMessage, get } from 'node:http'
import { expect, vi } from 'vitest'
import type { Environment } from '../../../src/config/config.ts'
import { addCleanup } from '../../helpers/cleanup.ts'
import { type RunningCommand, makeFolder, makeSettings, startBuilt } from '../../cli/run-cli.ts'

/** A built server with workers, and what it printed. */
export type ClusterServer = Readonly<{
  running: RunningCommand
  primaryPid: number
  publicUrl: string
  /** `null` without products. */
  box: string | null
  workerPids(): readonly number[]
  /** Lines of the log with these words. */
  findLogLines(text: string): readonly Readonly<Record<string, unknown>>[]
}>

/** Processes that this one started, and that live. */
function listChildren(pid: number): readonly number[] {
  return execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, parent, state]) => Number(parent) === pid && state?.startsWith('Z') === false)
    .map(([child]) => Number(child))
}

/** Does this process live? One that has ended and whose parent was not told yet does not. */
export function isAlive(pid: number): boolean {
  try {
    return !execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).startsWith('Z')
  } catch {
    return false
  }
}

/** Starts two workers, with sample data unless the settings say otherwise; everything ends with the test. */
export async function startCluster(
  settings: Environment = makeSettings(makeFolder()),
): Promise<ClusterServer> {
  const running = startBuilt(['serve', '--json'], {
    VITRINE_WORKERS: '2',
    ...settings,
    VITRINE_LOG_LEVEL: 'info',
  })
  const { publicUrl, box } = JSON.parse(await running.firstLine) as { publicUrl: string; box: string | null }
  const primaryPid = running.child.pid ?? 0
  return {
    running,
    primaryPid,
    publicUrl,
    box,
    workerPids: () => listChildren(primaryPid),
    findLogLines: (text) =>
      running
        .output()
        .split('\n')
        .filter((line) => line.startsWith('{"level"') && line.includes(text))
        .map((line) => JSON.parse(line) as Record<string, unknown>),
  }
}

/** What one request came to: its status and state, or the code of an error. */
export type Outcome = string

/** Visitors who ask one after the other without pause, half of them each time on a new connection. */
export type Visitors = Readonly<{
  /** How often each outcome was met. */
  outcomes: ReadonlyMap<Outcome, number>
  /** Answers so far. */
  count(): number
  stop(): Promise<void>
}>

/** Lets visitors ask for an address until `stop`, or until the test ends. */
export function startVisitors(url: string, visitorCount = 8): Visitors {
  const stopController = new AbortController()
  const outcomes = new Map<Outcome, number>()
  let count = 0
  const visit = async (agent: Agent): Promise<void> => {
    while (!stopController.signal.aborted) {
      const outcome = await requestOutcome(url, agent)
      count += 1
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    }
    agent.destroy()
  }
  const allVisits = Promise.all(
    Array.from({ length: visitorCount }, (_, index) =>
      visit(new Agent({ keepAlive: index % 2 === 0, maxSockets: 1 })),
    ),
  )
  const stop = async (): Promise<void> => {
    stopController.abort()
    await allVisits
  }
  addCleanup(stop)
  return { outcomes, count: () => count, stop }
}

/** One request, its whole answer read. */
export function requestOutcome(url: string, agent: Agent | false = false): Promise<Outcome> {
  return new Promise((resolve) => {
    get(url, { agent }, (response: IncomingMessage) => {
      response.resume()
      response.on('end', () => resolve(`${response.statusCode} ${String(response.headers['vitrine-state'])}`))
      response.on('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)))
    }).on('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)))
  })
}

/** A page as text, on a connection of its own. */
export function fetchText(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => (text += String(chunk)))
      response.on('end', () => resolve(text))
    }).on('error', reject)
  })
}

/** The sum of all series of a metric whose labels hold `labels`, 0 without any. */
export function sumSeries(page: string, name: string, labels = ''): number {
  const values = page
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .filter((line) => line.includes(labels))
    .map((line) => Number(line.slice(line.lastIndexOf(' '))))
  return values.reduce((sum, value) => sum + value, 0)
}

/** Waits until visitors have had this many more answers. */
export async function waitForResponses(visitors: Visitors, addedCount: number): Promise<void> {
  const previousCount = visitors.count()
  await vi.waitFor(() => expect(visitors.count()).toBeGreaterThan(previousCount + addedCount))
}
