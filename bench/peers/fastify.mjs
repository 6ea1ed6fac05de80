/** A route of Fastify with ready bytes. */
import fastify from 'fastify'
import { announce, readAnswer } from '../lib/ready-answer.mjs'

const { headers, bytes } = readAnswer()
const app = fastify()
app.get('/box', (_request, reply) => reply.headers(headers).send(bytes))
await app.listen({ port: 0, host: '127.0.0.1' })

announce(app.server.address().port)
