import { once } from 'node:events'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { Secret } from '../../../src/config/secrets.ts'
import { type TestCommand, createTestCommand, runCatalogCommand, withJson } from './test-command.ts'

export const CHANNEL = '952a0000-0000-4000-8000-00000000000a'
export const SECRET = 'k3y-of-the-network'

type FeedServer = Readonly<{
  url: string
  requests: string[]
  authorizations: (string | undefined)[]
  serve(body: string): void
  /** Respond to no request until the returned function is called. */
  hold(): () => void
}>

/** Serve a feed at any path, with an ETag. */
export async function startFeedServer(body: string): Promise<FeedServer> {
  let current = body
  let held: (() => void)[] | undefined
  const requests: string[] = []
  const authorizations: (string | undefined)[] = []
  const server: Server = createServer((request, response) => {
    requests.push(request.url ?? '')
    authorizations.push(request.headers.authorization)
    const respond = (): void => {
      const etag = `"${current.length}"`
      if (request.headers['if-none-match'] === etag) response.writeHead(304).end()
      else response.writeHead(200, { etag }).end(current)
    }
    if (held === undefined) respond()
    else held.push(respond)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    authorizations,
    serve: (next) => void (current = next),
    hold() {
      const waiting: (() => void)[] = []
      held = waiting
      return () => {
        held = undefined
        for (const respond of waiting) respond()
      }
    },
  }
}

/** GTINs with valid check digits. */
export const GTINS: readonly string[] = Array.from({ length: 120 }, (_, index) => {
  const digits = String(index + 1).padStart(13, '0')
  const sum = Array.from(digits).reduce(
    (total, digit, at) => total + Number(digit) * (at % 2 === 0 ? 3 : 1),
    0,
  )
  return `${digits}${(10 - (sum % 10)) % 10}`
})

export function makeTable(count: number, price = '10.00'): string {
  const rows = GTINS.slice(0, count).map(
    (gtin) => `${gtin},Lamp,https://kopje.example/${gtin},${price} EUR\n`,
  )
  return `gtin,title,link,price\n${rows.join('')}`
}

/** Create a command whose settings have the secret of the network. */
export function createFeedCommand(): TestCommand {
  const under = createTestCommand()
  const secrets = { ...under.context.secrets, feedSecrets: new Map([['NETWORK_KEY', new Secret(SECRET)]]) }
  return { ...under, context: { ...under.context, secrets } }
}

export const run = (under: TestCommand, ...args: readonly string[]): Promise<number> =>
  runCatalogCommand(under, 'feeds', ...args)

export async function runJson<T>(under: TestCommand, ...args: readonly string[]): Promise<T> {
  under.out.length = 0
  await run(withJson(under), ...args)
  return JSON.parse(under.out[0] ?? '') as T
}

/** Add the feed `kopje` at an address with a secret. */
export async function addKopje(
  under: TestCommand,
  { url }: Pick<FeedServer, 'url'>,
  ...options: readonly string[]
): Promise<void> {
  const address = `${url}/feed/\${NETWORK_KEY}.csv?token=t0ken-in-the-query`
  await run(under, 'add', 'kopje', '--url', address, '--channel', CHANNEL, ...options)
}
