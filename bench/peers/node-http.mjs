/** Bare `node:http`: sends the fixed headers and body of the JSON file `{ headers, body }` named in argv. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { serve } from './serve.mjs'

const { headers, body } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const bytes = Buffer.from(body, 'base64')

serve(createServer((_request, response) => response.writeHead(200, headers).end(bytes)))
