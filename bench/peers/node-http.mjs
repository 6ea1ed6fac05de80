/** Bare `node:http`: one write of a ready body with a ready header array, read from the file `{ headers, body }` in argv. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { serve } from './serve.mjs'

const { headers, body } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const bytes = Buffer.from(body, 'base64')

serve(createServer((_request, response) => response.writeHead(200, headers).end(bytes)))
