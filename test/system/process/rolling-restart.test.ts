import request from 'supertest'
import { expect, test, vi } from 'vitest'
import { type RunningCommand, makeFolder, startBuilt, startRemoteCatalog } from '../../cli/run-cli.ts'
import { CHANNEL_ID, makeWireProduct } from '../../helpers/fake-catalog.ts'
import { toGtin } from '../../helpers/products.ts'
import { findFreePort } from '../includes/program.ts'
import { startBalancer } from './balancer.ts'

const VISITORS = 8
const PRODUCTS = 40

test('two servers restarted one after the other under load - no visitor loses a response', async () => {
  const { catalog, settings } = await startRemoteCatalog(makeFolder())
  const gtins = Array.from({ length: PRODUCTS }, (_, index) => toGtin(index))
  catalog.products.set(
    CHANNEL_ID,
    gtins.map((gtin) => makeWireProduct({ gtin })),
  )
  const ports = [await findFreePort(), await findFreePort()]
  const start = (port: number): RunningCommand =>
    startBuilt(['serve', '--json'], { ...settings, VITRINE_PORT: String(port) })
  const servers = new Map<number, RunningCommand>()
  const balancer = await startBalancer(ports)
  for (const port of ports) {
    servers.set(port, start(port))
    await vi.waitFor(() => expect(balancer.isReady(port)).toBe(true))
  }
  // A ready server knows its channels, but its first walk may still be running.
  for (const server of servers.values()) await server.firstLine

  const done = new AbortController()
  const states = new Map<string, number>()
  const visit = async (first: number): Promise<void> => {
    for (let turn = first; !done.signal.aborted; turn += VISITORS) {
      const path = `/fragments/${CHANNEL_ID}/where-to-buy/${gtins[turn % PRODUCTS]}`
      const { status, headers } = await request(balancer.url).get(path)
      const state = `${status} ${headers['vitrine-state']}`
      states.set(state, (states.get(state) ?? 0) + 1)
    }
  }
  const visiting = Promise.all(Array.from({ length: VISITORS }, (_, index) => visit(index)))
  const codes: (number | null | undefined)[] = []
  for (const port of ports) {
    const ended = await servers.get(port)?.stop('SIGTERM')
    codes.push(ended?.code)
    await vi.waitFor(() => expect(balancer.isReady(port)).toBe(false))
    servers.set(port, start(port))
    await vi.waitFor(() => expect(balancer.isReady(port)).toBe(true))
  }
  await vi.waitFor(() => expect(states.get('200 shown')).toBeGreaterThan(200))
  done.abort()
  await visiting
  expect(codes).toEqual([0, 0])
  expect(balancer.failures()).toEqual([])
  expect([...states.keys()]).toEqual(['200 shown'])
})
