/** The least that Node can do: one write of ready bytes with their headers. */
import { createServer } from 'node:http'
import { readAnswer, serve } from '../lib/ready-answer.mjs'

const { headers, bytes } = readAnswer()
const lines = Object.entries(headers).flat()

serve(createServer((_request, response) => response.writeHead(200, lines).end(bytes)))
