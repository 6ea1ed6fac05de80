import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Clock, SECOND_MS, isWithin } from '../clock.ts'

/** A connection without an answer under way may bring a request that was sent before the end for this long. */
const QUIET_MS: number = SECOND_MS / 2
/** How often idle connections are closed while the server ends. */
const LOOK_MS = 50

/** The open connections of a server, and which of them wait for an answer. */
export type Connections = Readonly<{
  /** Until the answer closes, its connection is not quiet. */
  noteAnswer(socket: Duplex, response: ServerResponse): void
  /** Return how many noted answers of a connection have not been handed over whole. */
  countPending(socket: Duplex): number
  /**
   * Takes no new connection, lets answers end that are under way, also on their way to a slow reader, closes the others,
   * and cuts what is left after `withinMs`. Resolves when none is open.
   */
  end(clock: Clock, withinMs: number): Promise<void>
}>

/** Watches the connections of a server from now on. */
export function createConnections(server: Server): Connections {
  const answers = new Map<Duplex, number>()
  const count = (socket: Duplex, change: number): void => {
    const before = answers.get(socket)
    if (before !== undefined) answers.set(socket, before + change)
  }
  server.on('connection', (socket) => {
    answers.set(socket, 0)
    socket.once('close', () => answers.delete(socket))
  })
  // Bytes that the kernel has not taken yet.
  sparePending(server, () => [...answers.keys()].some((socket) => socket.writableLength > 0))
  return {
    noteAnswer(socket, response) {
      count(socket, 1)
      response.once('close', () => count(socket, -1))
    },
    countPending: (socket) => answers.get(socket) ?? 0,
    end: (clock, withinMs) => endServer(server, { clock, withinMs, closeQuiet: () => closeQuiet(answers) }),
  }
}

/**
 * Node takes a connection for idle whose answer has ended, also while most of it waits for a slow reader, and cuts it: in
 * `close`, too. While anything waits, idle connections stay; those that are quiet are closed by `closeQuiet`.
 */
function sparePending(server: Server, arePending: () => boolean): void {
  const closeIdle = server.closeIdleConnections.bind(server)
  server.closeIdleConnections = () => {
    if (!arePending()) closeIdle()
  }
}

/**
 * Closes those without an answer under way. Node's own `closeIdleConnections` leaves a connection that never sent a
 * request, and browsers open such ones ahead of need.
 */
function closeQuiet(answers: ReadonlyMap<Duplex, number>): void {
  for (const [socket, open] of answers) if (open === 0 && socket.writableLength === 0) socket.destroy()
}

async function endServer(
  server: Server,
  { clock, withinMs, closeQuiet }: Readonly<{ clock: Clock; withinMs: number; closeQuiet: () => void }>,
): Promise<void> {
  const closed = once(server, 'close')
  const done = new AbortController()
  const startedMs = clock.nowMs()
  server.close()
  void closed.then(() => done.abort())
  while (!done.signal.aborted && isWithin(startedMs, withinMs, clock.nowMs())) {
    server.closeIdleConnections()
    if (!isWithin(startedMs, QUIET_MS, clock.nowMs())) closeQuiet()
    await clock.wait(LOOK_MS, done.signal)
  }
  server.closeAllConnections()
  await closed
}
