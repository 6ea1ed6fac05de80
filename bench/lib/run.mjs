import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createProcesses } from './processes.mjs'
import { describeMachine, findTools } from './tools.mjs'

/**
 * What a scenario works with.
 * @typedef {ReturnType<typeof createRun>} Run
 */

/**
 * Everything of one run of the bench: its options, machine and programs, and a folder that goes with it.
 * @param {ReturnType<typeof import('./arguments.mjs').parseArguments>} options
 */
export function createRun(options) {
  const tools = findTools()
  const machine = describeMachine(options.nodePath)
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-bench-'))
  const isPinned = tools.taskset !== undefined && machine.cores >= 2
  const processes = createProcesses({ folder, isPinned })
  return {
    options,
    folder,
    tools,
    machine,
    isPinned,
    isStopping: false,
    processes,
    /** One core for who asks, one for who answers, and a third for the catalog where there is one. */
    cpus: { load: '0', server: '1', catalog: machine.cores >= 3 ? '2' : '0' },
    /** Tells whoever waits what is done now. */
    say: (text) => process.stderr.write(`${text}\n`),

    /** Starts a script of bench/peers/ with the Node of the servers, and gives what it prints first. */
    async startPeer(script, parameters, cpus = this.cpus.server) {
      const path = fileURLToPath(new URL(`../peers/${script}`, import.meta.url))
      const child = processes.start({ command: options.nodePath, parameters: [path, ...parameters], cpus })
      const { port } = await processes.readFirstLine(child)
      return { child, origin: `http://127.0.0.1:${port}` }
    },

    /** Stops every program and empties the folder, for the next scenario. */
    async clear() {
      await processes.stopAll()
      for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true })
    },

    /** Stops every program and removes the folder. */
    async dispose() {
      processes.close()
      await processes.stopAll()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
