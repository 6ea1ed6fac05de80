/** A route of Express that renders the same view with the same Eta templates for every request. */
import { createServer } from 'node:http'
import express from 'express'
import { createRenderer } from '../../dist/widgets/render.js'
import { readAnswer, serve } from '../lib/ready-answer.mjs'

const { headers, view } = readAnswer()
const renderer = createRenderer()
const app = express().disable('x-powered-by')
// The validator is among the headers: Express makes none of its own.
app.get('/box', (_request, response) => response.set(headers).send(renderer.renderBox(view)))

serve(createServer(app))
