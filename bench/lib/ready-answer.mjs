import { readFileSync } from 'node:fs'

/** The answer that a peer sends: the file named on its command line holds `{ headers, body, view }` as JSON. */
export function readAnswer() {
  const { headers, body, view } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
  return { headers, bytes: Buffer.from(body, 'base64'), view }
}

/**
 * Listens on a free port, prints it, and ends on SIGTERM.
 * @param {import('node:http').Server} server
 */
export function serve(server) {
  server.listen(0, '127.0.0.1', () => announce(server.address().port))
}

/** Tells the port to whoever started this. */
export function announce(port) {
  process.stdout.write(`${JSON.stringify({ port })}\n`)
  process.on('SIGTERM', () => process.exit(0))
}
