import { execFileSync } from 'node:child_process'
import { Agent, type IncomingMessage, get } from 'node:http'
import { expect, vi } from 'vitest'
import type { Environment } from '../../../src/config/config.ts'
import { addCleanup } from '../../helpers/cleanup.ts'
import { type RunningCommand, makeFolder, makeSettings, startBuilt } from '../../cli/run-cli.ts'

/** Start of the log message about a worker that ended by itself. */
export const ENDED_MESSAGE = 'a worker ended'

/** A built server with workers, and its log. */
export type ClusterServer = Readonly<{
  running: RunningCommand
  primaryPid: number
  publicUrl: string
  /** URL of a box; `null` without products. */
  box: string | null
  workerPids(): readonly number[]
  /** Return the log lines that contain the text. */
  findLogLines(text: string): readonly Readonly<Record<string, unknown>>[]
}>

/** List the running child processes of a process. */
function listChildren(pid: number): readonly number[] {
  return execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, parent, state]) => Number(parent) === pid && state?.startsWith('Z') === false)
    .map(([child]) => Number(child))
}

/** Is this process running? Zombies do not count. */
export function isAlive(pid: number): boolean {
  try {
    return !execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).startsWith('Z')
  } catch {
    return false
  }
}

/** Start a server with two workers and by default with sample data. It stops with the test. */
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

/** Status and state of a response, or the code of an error. */
export type Outcome = string

/** Visitors who send requests without a pause, half of them over a new connection each time. */
export type Visitors = Readonly<{
  /** Number of requests by outcome. */
  outcomes: ReadonlyMap<Outcome, number>
  /** Return the number of responses so far. */
  count(): number
  stop(): Promise<void>
}>

/** Start visitors who request a URL until `stop` or the end of the test. */
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

/** Send a request, read the whole response, and return the outcome. */
export function requestOutcome(url: string, agent: Agent | false = false): Promise<Outcome> {
  return new Promise((resolve) => {
    get(url, { agent }, (response: IncomingMessage) => {
      response.resume()
      response.on('end', () => resolve(`${response.statusCode} ${String(response.headers['vitrine-state'])}`))
      response.on('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)))
    }).on('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)))
  })
}

/** Fetch a page as text over a new connection. */
export function fetchText(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => (text += String(chunk)))
      response.on('end', () => resolve(text))
    }).on('error', reject)
  })
}

/** Return the sum of all series of a metric whose line contains `labels`; 0 if there are none. */
export function sumSeries(page: string, name: string, labels = ''): number {
  const values = page
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .filter((line) => line.includes(labels))
    .map((line) => Number(line.slice(line.lastIndexOf(' '))))
  return values.reduce((sum, value) => sum + value, 0)
}

/** Wait until the visitors have received this many more responses. */
export async function waitForResponses(visitors: Visitors, addedCount: number): Promise<void> {
  const previousCount = visitors.count()
  await vi.waitFor(() => expect(visitors.count()).toBeGreaterThan(previousCount + addedCount))
}
