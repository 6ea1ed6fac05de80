import { Agent, type IncomingMessage, get } from 'node:http'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { SECOND_MS, systemClock } from '../../../src/clock.ts'

/** The interval of readiness checks, and the timeout of a response. */
const POLL_INTERVAL_MS = 250
const RESPONSE_TIMEOUT_MS: number = 30 * SECOND_MS

/** A load balancer that counts responses by state and records failed or unexpected responses. */
export type ReplicaBalancer = Readonly<{
  isReady(port: number): boolean
  /** Send a request to a ready replica. If it fails, try the next one, as nginx and Varnish do. */
  visit(path: string): Promise<void>
  /** Send a request to each ready replica. */
  visitEach(path: string): Promise<void>
  states(): Readonly<Record<string, number>>
  failures(): readonly string[]
}>

/** Start a minimal load balancer that stops with the test. */
export function startReplicaBalancer(ports: readonly number[]): ReplicaBalancer {
  const agent = new Agent({ keepAlive: true })
  const ready = new Set<number>()
  const states: Record<string, number> = {}
  const failures: string[] = []
  const stopController = new AbortController()
  onTestFinished(() => {
    stopController.abort()
    agent.destroy()
  })
  const pollReadiness = async (port: number): Promise<void> => {
    while (!stopController.signal.aborted) {
      const status = await sendRequest(port, '/readyz').then(
        ({ statusCode }) => statusCode,
        () => 0,
      )
      if (status === 200) ready.add(port)
      else ready.delete(port)
      await systemClock.wait(POLL_INTERVAL_MS, stopController.signal)
    }
  }
  for (const port of ports) void pollReadiness(port)
  let startIndex = 0
  const visitAt = async (port: number, path: string): Promise<void> => {
    const response = await sendRequest(port, path, agent)
    const state = `${response.statusCode} ${String(response.headers['vitrine-state'])}`
    states[state] = (states[state] ?? 0) + 1
    if (state !== '200 shown')
      failures.push(`${path} of ${port}: ${state} ${JSON.stringify(response.headers)}`)
  }
  return {
    isReady: (port) => ready.has(port),
    async visitEach(path) {
      for (const port of ready) await visitAt(port, path)
    },
    async visit(path) {
      const readyPorts = [...ready]
      startIndex += 1
      for (let offset = 0; offset < readyPorts.length; offset += 1) {
        const port = readyPorts[(startIndex + offset) % readyPorts.length] ?? 0
        try {
          return await visitAt(port, path)
        } catch {
          ready.delete(port)
        }
      }
      failures.push(`${path}: no replica responds`)
    },
    states: () => states,
    failures: () => failures,
  }
}

async function sendRequest(port: number, path: string, agent?: Agent): Promise<IncomingMessage> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, agent: agent ?? false, timeout: RESPONSE_TIMEOUT_MS }
    const request = get(options, resolve)
    request.on('error', reject).on('timeout', () => request.destroy(new Error('too late')))
  })
  await text(response)
  return response
}
