#!/usr/bin/env node
/** The installed command `vitrine`. It checks Node before it loads code that an older version cannot load. */
import { readFileSync } from 'node:fs'
import { findNodeProblem } from './lib/node-version.ts'

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  engines: { node: string }
}
const problem = findNodeProblem(process.versions.node, engines.node)
if (problem === null) await import('./main.ts')
else {
  process.stderr.write(`${problem}\n`)
  process.exitCode = 1
}
