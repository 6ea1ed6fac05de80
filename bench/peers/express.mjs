/** A route of Express with ready bytes, and none of what Express does beside that. */
import { createServer } from 'node:http'
import express from 'express'
import { readAnswer, serve } from '../lib/ready-answer.mjs'

const { headers, bytes } = readAnswer()
const app = express().disable('x-powered-by').set('etag', false)
app.get('/box', (_request, response) => response.writeHead(200, headers).end(bytes))

serve(createServer(app))
