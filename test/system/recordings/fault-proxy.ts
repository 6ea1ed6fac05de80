import { once } from 'node:events'
import { randomInt } from 'node:crypto'
import { Socket, connect, createServer } from 'node:net'
import type { StatementLog } from '../../recordings/faults/statement-log.ts'

/** What the proxy does with one statement: pass it on, let it fail with this SQLSTATE, or break the connection instead of its reply. */
export type StatementFate = 'pass' | 'reset' | Readonly<{ sqlState: string }>

export type ProxyHooks = {
  log: StatementLog
  /** Decide about a statement. `isInTransaction`: it is not the first of its transaction. */
  decide(text: string, isInTransaction: boolean): StatementFate
}

/** A proxy that reads PostgreSQL's protocol: it logs, fails and interrupts statements, and knows which are running. */
export type FaultProxy = Readonly<{
  port: number
  /** Whether bytes, a new connection or a reset are on their way between the program and the proxy. */
  hasBytesInFlight(): boolean
  /** Chunks of bytes that have come from the program or the server. */
  countTransfers(): number
  /** Statements or logins that the server has not replied to. A silent proxy waits for none. */
  countRunning(): number
  /** Numbers of server processes with a running statement, and the time limits that were set there. */
  listRunning(): readonly RunningStatement[]
  setSilent(isSilent: boolean): void
  /** Reject logins with this SQLSTATE; `undefined`: accept them. */
  setLoginError(sqlState: string | undefined): void
  /** Close the port and reset all connections, or open the port again. */
  refuse(): Promise<void>
  accept(): Promise<void>
  resetAll(): void
  close(): Promise<void>
}>

export type RunningStatement = Readonly<{
  id: number
  pid: number
  statementLimitMs: number
  lockLimitMs: number
}>

type Connection = {
  client: Socket
  server: Socket
  texts: Map<string, string>
  isInTransaction: boolean
  /** Replies that the server owes. */
  running: number
  /** The next reply breaks the connection. */
  isReset: boolean
  isStarted: boolean
  pid: number
  statementId: number
  statementLimitMs: number
  localStatementLimitMs: number | undefined
  lockLimitMs: number
  fromClient: Buffer
  fromServer: Buffer
  unit: Buffer[]
  unitText: string
}

/** The first message of a connection has no type. */
const HEADER_BYTES = 5

let statements = 0

/** Start a proxy to a PostgreSQL server without TLS. */
export async function startFaultProxy(targetPort: number, hooks: ProxyHooks): Promise<FaultProxy> {
  const connections = new Set<Connection>()
  let transfers = 0
  let isSilent = false
  let loginError: string | undefined
  // Delayed packets would look like silence.
  const server = createServer({ noDelay: true }, (client) => {
    hooks.log.recordConnection()
    const connection = createConnection(
      client,
      connect({ port: targetPort, host: '127.0.0.1', noDelay: true }),
    )
    connections.add(connection)
    client.on('data', (chunk) => {
      transfers += 1
      if (isSilent) return
      if (!connection.isStarted && loginError !== undefined) client.end(createLoginError(loginError))
      else readClient(connection, chunk, hooks)
    })
    connection.server.on('data', (chunk) => {
      transfers += 1
      if (!isSilent) readServer(connection, chunk)
    })
    for (const socket of [client, connection.server]) {
      socket.on('error', () => {})
      socket.on('close', () => {
        connections.delete(connection)
        client.destroy()
        connection.server.destroy()
      })
    }
  })
  const resetAll = (): void => {
    for (const { client } of connections) client.resetAndDestroy()
  }
  const port = await listenOutsideOfEphemeralPorts(server)
  const { hasBytesInFlight, untrack } = trackSockets(port, connections)
  return {
    port,
    hasBytesInFlight,
    countTransfers: () => transfers,
    countRunning: () => (isSilent ? 0 : [...connections].reduce((total, { running }) => total + running, 0)),
    listRunning: () =>
      [...connections]
        .filter(({ running, pid }) => running > 0 && pid > 0)
        .map(({ statementId, pid, statementLimitMs, localStatementLimitMs, lockLimitMs }) => ({
          id: statementId,
          pid,
          statementLimitMs: localStatementLimitMs ?? statementLimitMs,
          lockLimitMs,
        })),
    setSilent(isSilentNow) {
      isSilent = isSilentNow
      if (!isSilent) resetAll()
    },
    setLoginError: (sqlState) => void (loginError = sqlState),
    async refuse() {
      const closed = once(server, 'close')
      server.close()
      resetAll()
      await closed
    },
    async accept() {
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    },
    resetAll,
    async close() {
      untrack()
      resetAll()
      if (!server.listening) return
      server.close()
      await once(server, 'close')
    },
  }
}

/** Remember the sockets of this thread that connect to the port. Return whether bytes are on their way between them and the peers. */
function trackSockets(port: number, connections: ReadonlySet<Connection>) {
  const sockets = new Set<Socket>()
  const { connect: original } = Socket.prototype
  Socket.prototype.connect = function connectTracked(this: Socket, ...parameters: unknown[]): Socket {
    if (JSON.stringify(parameters).includes(String(port))) {
      sockets.add(this)
      this.once('close', () => sockets.delete(this))
    }
    return Reflect.apply(original, this, parameters)
  }
  const isInFlight = (socket: Socket): boolean => {
    const peer = [...connections].find(({ client }) => client.remotePort === socket.localPort)?.client
    return peer?.bytesWritten !== socket.bytesRead || peer.bytesRead !== socket.bytesWritten
  }
  return {
    hasBytesInFlight: () => [...sockets].some(isInFlight),
    untrack: () => void (Socket.prototype.connect = original),
  }
}

/** Another program could take a port of the ephemeral range while the proxy refuses. */
async function listenOutsideOfEphemeralPorts(server: ReturnType<typeof createServer>): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 30_000)
    const listening = once(server, 'listening')
    server.listen(port, '127.0.0.1')
    try {
      await listening
      return port
    } catch {
      // The port is in use.
    }
  }
}

function createConnection(client: Socket, server: Socket): Connection {
  return {
    client,
    server,
    texts: new Map(),
    isInTransaction: false,
    running: 0,
    isReset: false,
    isStarted: false,
    pid: 0,
    statementId: 0,
    statementLimitMs: Infinity,
    localStatementLimitMs: undefined,
    lockLimitMs: Infinity,
    fromClient: Buffer.alloc(0),
    fromServer: Buffer.alloc(0),
    unit: [],
    unitText: '',
  }
}

function readClient(connection: Connection, chunk: Buffer, hooks: ProxyHooks): void {
  let rest = Buffer.concat([connection.fromClient, chunk])
  if (!connection.isStarted && rest.length >= 4 && rest.length >= rest.readInt32BE(0)) {
    const length = rest.readInt32BE(0)
    connection.isStarted = true
    connection.running += 1
    connection.server.write(rest.subarray(0, length))
    rest = rest.subarray(length)
  }
  while (connection.isStarted && rest.length >= HEADER_BYTES && rest.length > rest.readInt32BE(1)) {
    const length = rest.readInt32BE(1) + 1
    readMessage(connection, rest.subarray(0, length), hooks)
    rest = rest.subarray(length)
  }
  connection.fromClient = rest
}

/** Collect the messages of one statement, which ends with Query or Sync. */
function readMessage(connection: Connection, message: Buffer, hooks: ProxyHooks): void {
  const type = message.toString('latin1', 0, 1)
  connection.unit.push(message)
  connection.unitText = findText(connection.texts, type, message) ?? connection.unitText
  if (type === 'Q' || type === 'S') sendStatement(connection, hooks)
  if (type === 'X') connection.server.write(Buffer.concat(connection.unit.splice(0)))
}

/** Return the text of a Query or Parse message, or the text that a Bind message names. */
function findText(texts: Map<string, string>, type: string, message: Buffer): string | undefined {
  const [first = '', second = ''] = message.toString('latin1', HEADER_BYTES).split('\0')
  if (type === 'Q') return first
  if (type === 'P') texts.set(first, second)
  if (type === 'B') return texts.get(second)
  return type === 'P' ? second : undefined
}

function sendStatement(connection: Connection, hooks: ProxyHooks): void {
  const { unitText: text, server } = connection
  const unit = Buffer.concat(connection.unit.splice(0))
  recordLimits(connection, text)
  hooks.log.record(connection, text)
  const fate = hooks.decide(text, connection.isInTransaction)
  if (/^\s*(?:begin|start transaction)/i.test(text)) connection.isInTransaction = true
  if (/^\s*(?:commit|rollback)/i.test(text)) connection.isInTransaction = false
  connection.running += 1
  connection.statementId = statements += 1
  connection.isReset = fate === 'reset'
  server.write(typeof fate === 'string' ? unit : createRaise(fate.sqlState))
}

function recordLimits(connection: Connection, text: string): void {
  const limitMs = Number(/\bstatement_timeout = (\d+)/.exec(text)?.[1])
  const lockLimitMs = Number(/\block_timeout = (\d+)/.exec(text)?.[1])
  if (/^\s*(?:begin|start transaction)/i.test(text)) {
    connection.localStatementLimitMs = undefined
    connection.lockLimitMs = Infinity
  }
  if (lockLimitMs > 0) connection.lockLimitMs = lockLimitMs
  if (!(limitMs > 0)) return
  if (text.includes('set local')) connection.localStatementLimitMs = limitMs
  else connection.statementLimitMs = limitMs
}

/** A statement that fails on the server, so that its transaction is really aborted. */
function createRaise(sqlState: string): Buffer {
  const text = `do $$ begin raise exception 'injected fault' using errcode = '${sqlState}'; end $$\0`
  const header = Buffer.alloc(HEADER_BYTES)
  header.write('Q')
  header.writeInt32BE(text.length + 4, 1)
  return Buffer.concat([header, Buffer.from(text)])
}

function createLoginError(sqlState: string): Buffer {
  const text = `SFATAL\0VFATAL\0C${sqlState}\0Minjected fault\0\0`
  const header = Buffer.alloc(HEADER_BYTES)
  header.write('E')
  header.writeInt32BE(text.length + 4, 1)
  return Buffer.concat([header, Buffer.from(text)])
}

function readServer(connection: Connection, chunk: Buffer): void {
  let rest = Buffer.concat([connection.fromServer, chunk])
  while (rest.length >= HEADER_BYTES && rest.length > rest.readInt32BE(1)) {
    const length = rest.readInt32BE(1) + 1
    const type = String.fromCharCode(rest[0] ?? 0)
    if (type === 'K') connection.pid = rest.readInt32BE(HEADER_BYTES)
    if (type === 'Z') connection.running -= 1
    if (connection.isReset) {
      if (type === 'Z') connection.client.resetAndDestroy()
    } else connection.client.write(rest.subarray(0, length))
    rest = rest.subarray(length)
  }
  connection.fromServer = rest
}
