/** Listen on a free port, print the port, and exit on SIGTERM. @param {import('node:http').Server} server */
export function serve(server) {
  server.listen(0, '127.0.0.1', () =>
    process.stdout.write(`${JSON.stringify({ port: server.address().port })}\n`),
  )
  process.on('SIGTERM', () => process.exit(0))
}
