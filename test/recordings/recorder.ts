import { hash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request as sendRequest } from 'node:http'
import { once } from 'node:events'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import sharp from 'sharp'
import { VERSION } from '../../src/lib/files.ts'

// oxlint-disable-next-line node/no-process-env -- how the tests run, not a setting
const BODIES_FOLDER = process.env['RECORD_BODIES']

/** `If-None-Match: same` sends the ETag of the response to the same request without it. */
export type RecordedRequest = Readonly<{
  path: string
  method?: string
  headers?: Readonly<Record<string, string>>
}>

/** Texts, and the names under which they are recorded. */
type Names = Readonly<Record<string, string>>

/** `names`: for addresses and headers, which are read. `randomNames`: also for bodies. */
export type RecordedServer = Readonly<{ url: string; names: Names; randomNames?: Names }>

type Received = Readonly<{ status: number; headers: IncomingHttpHeaders; body: Buffer }>

/** Headers of one response, in this order. All others belong to a header set, which many responses share. */
const OWN_HEADERS = [
  'vitrine-state',
  'vitrine-reason',
  'vitrine-error',
  'cache-control',
  'cache-status',
  'content-encoding',
  'location',
  'retry-after',
  'www-authenticate',
  'allow',
  'surrogate-key',
]
/** Not the server's own, or recorded in another form. */
const OTHER_HEADERS = [
  'etag',
  'content-length',
  'connection',
  'date',
  'keep-alive',
  'transfer-encoding',
  'vitrine-request-id',
]
const EXCLUDED = new Set([...OWN_HEADERS, ...OTHER_HEADERS])

/** Texts that differ from build to build or from run to run. The second value takes their place. */
const VOLATILE: readonly (readonly [RegExp, string])[] = [
  [/(\/assets\/[\w-]+\.)[\da-f]{8}(?=\.(?:css|js))/g, '$100000000'],
  [/sha384-[\w+/]{64}/g, 'sha384-{digest}'],
  [/127\.0\.0\.1:\d+/g, '127.0.0.1:0'],
  // Version 4: a random id.
  [/(?<=urn:uuid:)[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[\da-f]{4}-[\da-f]{12}/g, '{random}'],
  [new RegExp(`(?<="version":")${VERSION.replaceAll('.', String.raw`\.`)}(?=")`, 'g'), '{version}'],
  // Sizes of caches depend on the compression of Node.
  [/^(vitrine_cache_bytes\{.*\}) .*$/gm, '$1 {bytes}'],
]

/** Only these lines of metrics come from Vitrine alone. */
const OWN_METRIC = /^(?:# \w+ )?vitrine_/

/** A record: a header for each group of requests, and a block for each request. */
export class Recorder {
  readonly #lines: string[] = []
  readonly #headerSets = new Map<string, string>()
  readonly #bodyNames = new Set<string>()
  #group = ''

  /** Start a group. Its requests are sent one after the other, because responses depend on earlier ones. */
  async record(group: string, server: RecordedServer, requests: readonly RecordedRequest[]): Promise<void> {
    this.#group = group
    this.#lines.push(`\n== ${group}\n`)
    const agent = new Agent({ keepAlive: true })
    for (const request of requests) await this.#recordOne(agent, server, request)
    agent.destroy()
  }

  toText(): string {
    const sets = [...this.#headerSets].map(([text, name]) => `[${name}]\n${text}`)
    return `${sets.join('\n')}${this.#lines.join('\n')}\n`
  }

  async #recordOne(
    agent: Agent,
    { url, names, randomNames = {} }: RecordedServer,
    recorded: RecordedRequest,
  ): Promise<void> {
    const { path, method = 'GET', headers = {} } = recorded
    const sent: Record<string, string> = { ...headers }
    if (sent['If-None-Match'] === 'same') {
      const { 'If-None-Match': _same, ...others } = sent
      sent['If-None-Match'] = (await send(agent, url, { path, headers: others })).headers.etag ?? 'none'
    }
    const received = await send(agent, url, { path, method, headers: sent })
    const allNames = { ...names, ...randomNames }
    const title = replaceNames(allNames, describeRequest(recorded))
    this.#lines.push(title)
    const body = await describeBody(received, randomNames)
    const headerSet = this.#nameHeaderSet(path, received.headers)
    const own = replaceNames(allNames, describeHeaders(received, method))
    this.#lines.push(`  ${received.status} [${headerSet}]${own}${body.summary}`)
    if (BODIES_FOLDER !== undefined) this.#writeBody(BODIES_FOLDER, title, body.bytes)
  }

  /** Name a header set after the first segment of the first address that has it. */
  #nameHeaderSet(path: string, headers: IncomingHttpHeaders): string {
    const lines = Object.entries(headers)
      .filter(([name]) => !EXCLUDED.has(name))
      .map(([name, value]) => `  ${name}: ${String(value)}\n`)
    const text = lines.toSorted().join('')
    const known = this.#headerSets.get(text)
    if (known !== undefined) return known
    const segment = /[a-z.]+/.exec(path)?.[0] ?? 'root'
    const count = [...this.#headerSets.values()].filter((name) => name.split(' ')[0] === segment).length
    const name = `${segment} ${count + 1}`
    this.#headerSets.set(text, name)
    return name
  }

  #writeBody(folder: string, title: string, bytes: Buffer): void {
    const start = `${this.#group} ${title}`.replaceAll(/[^\w.=-]+/g, '-').slice(0, 150)
    const stem = `${start}-${hash('sha256', `${this.#group} ${title}`).slice(0, 6)}`
    let name = stem
    for (let count = 2; this.#bodyNames.has(name); count += 1) name = `${stem}-${count}`
    this.#bodyNames.add(name)
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, name), bytes)
  }
}

async function send(
  agent: Agent,
  url: string,
  { path, method = 'GET', headers = {} }: RecordedRequest,
): Promise<Received> {
  const { hostname, port } = new URL(url)
  const request = sendRequest({
    agent,
    hostname,
    port,
    path,
    method,
    headers: { Host: 'widgets.example', ...headers },
  })
  request.end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) }
}

function describeRequest({ path, method = 'GET', headers = {} }: RecordedRequest): string {
  const sent = Object.entries(headers).map(([name, value]) => `  ${name}: ${hideCredentials(name, value)}`)
  const shown =
    path.length > MAX_SHOWN_CHARACTERS ? `${path.slice(0, MAX_SHOWN_CHARACTERS)}… (${path.length})` : path
  return [`${method} ${shown}`, ...sent].join('')
}

const MAX_SHOWN_CHARACTERS = 300

function hideCredentials(name: string, value: string): string {
  if (name !== 'Authorization') return value
  return value.startsWith('Basic ') ? Buffer.from(value.slice(6), 'base64').toString() : value
}

function describeHeaders({ headers, body }: Received, method: string): string {
  const { etag, connection, 'vitrine-request-id': requestId } = headers
  const parts = [
    ...OWN_HEADERS.map((name) => headers[name] && `${name}: ${replaceVolatile(String(headers[name]))}`),
    etag && (etag.startsWith('W/') ? 'etag: weak' : 'etag: strong'),
    requestId && 'vitrine-request-id',
    connection === 'close' && 'connection: close',
    method === 'HEAD' ? describePromisedLength(headers) : describeWrongLength(headers, body.length),
  ]
  return parts
    .filter(Boolean)
    .map((part) => ` | ${String(part)}`)
    .join('')
}

/** The length of compressed text depends on Node, and that of a picture on the processor. */
function describePromisedLength(headers: IncomingHttpHeaders): string | undefined {
  const isFixed = headers['content-encoding'] === undefined && !isConverted(headers)
  const length = headers['content-length']
  return isFixed && length !== undefined ? `content-length: ${length}` : undefined
}

function describeWrongLength(headers: IncomingHttpHeaders, received: number): string | undefined {
  const length = headers['content-length']
  if (length === undefined) return received > 0 ? 'without content-length' : undefined
  return Number(length) === received ? undefined : `content-length: ${length} instead of ${received}`
}

/** Describe the decompressed body without what is volatile. */
async function describeBody(
  { headers, body }: Received,
  names: Names,
): Promise<{ summary: string; bytes: Buffer }> {
  if (body.length === 0) return { summary: '', bytes: body }
  const type = headers['content-type'] ?? ''
  if (isConverted(headers)) {
    const { format, width, height } = await sharp(body).metadata()
    return { summary: ` | ${format} ${width} x ${height}`, bytes: body }
  }
  const bytes = normalizeBody(decompress(headers['content-encoding'], body), type, names)
  return { summary: ` | ${bytes.length} bytes ${hash('sha256', bytes).slice(0, 10)}`, bytes }
}

function isConverted({ 'content-type': type = '' }: IncomingHttpHeaders): boolean {
  return type === 'image/webp' || type === 'image/jpeg'
}

function decompress(encoding: string | undefined, body: Buffer): Buffer {
  if (encoding === 'br') return brotliDecompressSync(body)
  return encoding === 'gzip' ? gunzipSync(body) : body
}

function normalizeBody(body: Buffer, type: string, names: Names): Buffer {
  const text = body.toString('latin1')
  const lines = text.split('\n')
  const own = type.startsWith('text/plain; version=') ? lines.filter((line) => OWN_METRIC.test(line)) : lines
  return Buffer.from(replaceNames(names, replaceVolatile(own.join('\n'))), 'latin1')
}

function replaceVolatile(text: string): string {
  return VOLATILE.reduce((changed, [pattern, name]) => changed.replaceAll(pattern, name), text)
}

function replaceNames(names: Names, text: string): string {
  return Object.entries(names).reduce((changed, [id, name]) => changed.replaceAll(id, `{${name}}`), text)
}
