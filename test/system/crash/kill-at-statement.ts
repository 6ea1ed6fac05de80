import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '../../../src/config/config.ts'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'

/**
 * Wraps the SQLite module of the real program, also in its walk thread, and kills the process just before a statement
 * runs. No other way hits the moment between two statements.
 */
const PRELOAD_SCRIPT = `
const { createRequire } = require('node:module')
const need = createRequire(MAIN)
let left = COUNT
const pass = (sql) => {
  if (PATTERN.test(sql) && --left === 0) process.kill(process.pid, 'SIGKILL')
}
const wrap = ({ DatabaseSync }) => ({
  DatabaseSync: class {
    #database
    constructor(...parameters) { this.#database = new DatabaseSync(...parameters) }
    exec(sql) { pass(sql); this.#database.exec(sql) }
    function(name, implementation) { this.#database.function(name, implementation) }
    close() { this.#database.close() }
    prepare(sql) {
      const statement = this.#database.prepare(sql)
      const call = (name) => (...parameters) => { pass(sql); return statement[name](...parameters) }
      return { all: call('all'), run: call('run'), iterate: call('iterate') }
    }
  },
})
const builtIn = process.getBuiltinModule
process.getBuiltinModule = (name) => {
  const found = builtIn.call(process, name)
  return name === 'node:sqlite' && found !== undefined ? wrap(found) : found
}
if (builtIn.call(process, 'node:sqlite') === undefined) {
  const module = need('@photostructure/sqlite')
  need.cache[need.resolve('@photostructure/sqlite')].exports = wrap(module)
}
`

/** Return settings that kill a program before the `count`-th statement that matches `pattern`. */
export function killAtStatement(folder: string, pattern: RegExp, count = 1): Environment {
  const file = join(folder, 'bomb.cjs')
  const main = JSON.stringify(join(PACKAGE_FOLDER, 'dist/main.js'))
  const text = PRELOAD_SCRIPT.replace('MAIN', () => main).replace('COUNT', () => String(count))
  writeFileSync(
    file,
    text.replace('PATTERN', () => String(pattern)),
  )
  return { NODE_OPTIONS: `--require ${file}` }
}
