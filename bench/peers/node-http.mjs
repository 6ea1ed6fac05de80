/** The least that Node can do: one write of ready bytes with their headers. */
import { createServer } from 'node:http'
import { readAnswer, serve } from '../lib/ready-answer.mjs'

const { headers, bytes } = readAnswer()
const lines = Object.entries(headers).flat()
// As Vitrine does: Node writes headers and a text at once, a buffer as a second part.
const text = bytes.toString('latin1')

serve(createServer((_request, response) => response.writeHead(200, lines).end(text, 'latin1')))
