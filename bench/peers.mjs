/**
 * Peers that send the very bytes of a Vitrine answer, each in a process of its own: `node bench/peers.mjs NAME FILE`.
 * Prints its port. FILE holds { headers, body, view } as JSON.
 */
import { createServer } from 'node:http'
import { readFileSync } from 'node:fs'
import express from 'express'
import { createRenderer } from '../dist/widgets/render.js'

const [name, file] = process.argv.slice(2)
const { headers, body, view } = JSON.parse(readFileSync(file, 'utf8'))
const bytes = Buffer.from(body)

const peers = {
  /** The least that Node can do: one write of ready bytes. */
  'node:http': () => createServer((_request, response) => response.writeHead(200, headers).end(bytes)),
  /** A route of Express with ready bytes. */
  express: () => {
    const app = express().disable('x-powered-by').set('etag', false)
    app.get('/box', (_request, response) => response.writeHead(200, headers).end(bytes))
    return createServer(app)
  },
  /** A route of Express that renders the same view with the same Eta templates for every request. */
  'express+eta': () => {
    const renderer = createRenderer()
    const app = express().disable('x-powered-by')
    app.get('/box', (_request, response) => response.type('html').send(renderer.renderBox(view)))
    return createServer(app)
  },
}

const server = peers[name]()
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`${JSON.stringify({ port: server.address().port })}\n`),
)
process.on('SIGTERM', () => process.exit(0))
