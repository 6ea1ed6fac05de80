import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ServedAddresses, startBuiltServer } from '../helpers/built-server.ts'
import { startChromium } from './start-chromium.ts'

/** A program that runs beside the tests, and what they need to reach it. `ended` resolves when it ends by itself. */
type Program<T> = Readonly<{ address: T; ended: Promise<unknown>; stop(): Promise<void> }>

/** What each shared program is reached by: Playwright's endpoint, and the pages of a built server with sample data. */
type Addresses = Readonly<{ browser: string; sample: ServedAddresses }>

const STARTERS: { readonly [Name in keyof Addresses]: () => Promise<Program<Addresses[Name]>> } = {
  browser: startChromium,
  async sample() {
    const { addresses, ended, stop } = await startBuiltServer()
    return { address: addresses, ended, stop }
  },
}

/** Where the processes of the tests ask for programs. */
const BROKER = 'TEST_PROGRAMS_URL'

/** Start each shared program when the first test file asks for it, and stop all of them after the last. */
export async function setup(): Promise<() => Promise<void>> {
  const running = new Map<string, Promise<Program<unknown>>>()
  const get = (name: keyof Addresses): Promise<Program<unknown>> => {
    const known = running.get(name)
    if (known !== undefined) return known
    const started: Promise<Program<unknown>> = STARTERS[name]()
    running.set(name, started)
    // The next file starts another in place of one that crashed or did not start.
    const forget = (): void => void running.delete(name)
    void started.then(({ ended }) => ended).then(forget, forget)
    return started
  }
  const broker = createServer((request, response) => {
    get((request.url ?? '').slice(1) as keyof Addresses).then(
      ({ address }) => response.end(JSON.stringify(address)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  await once(broker.listen(0, '127.0.0.1'), 'listening')
  // oxlint-disable-next-line node/no-process-env -- the processes of the tests read it there
  process.env[BROKER] = `http://127.0.0.1:${(broker.address() as AddressInfo).port}`
  return async () => {
    broker.close()
    broker.closeAllConnections()
    await Promise.all([...running.values()].map(async (started) => (await started).stop()))
  }
}

/** Get the address of a shared program; the first call of all files starts it. */
export async function getProgram<Name extends keyof Addresses>(name: Name): Promise<Addresses[Name]> {
  // oxlint-disable-next-line node/no-process-env -- where the tests find their programs, not a setting
  const broker = process.env[BROKER]
  if (broker === undefined) throw new Error(`${BROKER} is not set: only system tests have shared programs`)
  const response = await fetch(`${broker}/${name}`)
  if (!response.ok) throw new Error(`"${name}" did not start: ${await response.text()}`)
  return (await response.json()) as Addresses[Name]
}
