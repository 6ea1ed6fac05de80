/** `npm run bench`: measure the built program against named peers in alternating rounds, and check the targets. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { describeEnvironment, formatOutcome } from './lib/report.mjs'
import { createRun } from './lib/run.mjs'
import { cold } from './scenarios/cold.mjs'
import { copy } from './scenarios/copy.mjs'
import { full } from './scenarios/full.mjs'
import { grids } from './scenarios/grids.mjs'
import { hot } from './scenarios/hot.mjs'
import { importing } from './scenarios/import.mjs'
import { memory } from './scenarios/memory.mjs'
import { mix } from './scenarios/mix.mjs'
import { pictures } from './scenarios/pictures.mjs'
import { sizing } from './scenarios/sizing.mjs'
import { start } from './scenarios/start.mjs'
import { walk } from './scenarios/walk.mjs'
import { workers } from './scenarios/workers.mjs'

const SCENARIOS = [
  hot,
  mix,
  cold,
  copy,
  grids,
  walk,
  importing,
  start,
  memory,
  full,
  workers,
  pictures,
  sizing,
]

const USAGE = `npm run bench -- [scenario ...] [options]

Scenarios (default: all):
${SCENARIOS.map(({ name, about }) => `  ${name.padEnd(9)} ${about}`).join('\n')}

Options:
  --rounds N      rounds of each scenario; each measures all peers (5)
  --seconds N     duration of a measurement in a round (2)
  --products N    products to walk and import (100000); targets need at least as many
  --node PATH     Node executable for all servers, Vitrine and peers (the current one)
  --database URL  empty PostgreSQL database for the sizing scenario, instead of SQLite
  --results DIR   folder for tables and rounds (bench/results)
  --no-fail       exit with code 0 even if a target is missed
`

const USAGE_EXIT_CODE = 2

/** @returns the options of the run, or an error message with the usage */
function parseArguments(args) {
  const text = { type: 'string' }
  const options = {
    rounds: text,
    seconds: text,
    products: text,
    node: text,
    database: text,
    results: text,
    fail: { type: 'boolean' },
    help: { type: 'boolean' },
  }
  try {
    const parsed = parseArgs({ args, options, allowPositionals: true, allowNegative: true })
    const { values, positionals: names } = parsed
    const unknown = names.filter((name) => SCENARIOS.every((scenario) => scenario.name !== name))
    if (unknown.length > 0) return `Unknown scenario: ${unknown.join(', ')}.\n\n${USAGE}`
    const numbers = {
      rounds: Number(values.rounds ?? 5),
      seconds: Number(values.seconds ?? 2),
      products: Number(values.products ?? 100_000),
    }
    if (!Object.values(numbers).every((number) => number > 0)) return `Numbers must be positive.\n\n${USAGE}`
    return {
      ...numbers,
      scenarios: SCENARIOS.filter(({ name }) => names.length === 0 || names.includes(name)),
      node: values.node ?? process.execPath,
      database: values.database ?? null,
      results: values.results ?? fileURLToPath(new URL('results', import.meta.url)),
      mustMeetTargets: values.fail !== false,
      wantsHelp: values.help === true,
    }
  } catch (error) {
    return `${error.message}\n\n${USAGE}`
  }
}

async function main(args) {
  const options = parseArguments(args)
  if (typeof options === 'string') {
    process.stderr.write(options)
    return USAGE_EXIT_CODE
  }
  if (options.wantsHelp) {
    process.stdout.write(USAGE)
    return 0
  }
  mkdirSync(options.results, { recursive: true })
  const run = createRun(options)
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => void run.dispose().finally(() => process.exit(130)))
  const missed = []
  try {
    for (const scenario of options.scenarios) {
      run.log(`${scenario.name}: ${scenario.about}`)
      const outcome = await runSafely(run, scenario)
      const text = `## ${scenario.name}\n\n${formatOutcome(outcome)}`
      process.stdout.write(`\n${text}`)
      writeResults(run, scenario.name, { text, rounds: outcome.rounds })
      const failed = outcome.targets.filter(({ isMet }) => isMet === false)
      missed.push(...failed.map((target) => `${scenario.name}: ${target.text}; measured ${target.measured}`))
      await run.stopAll()
    }
  } finally {
    await run.dispose()
  }
  for (const line of missed) run.log(`missed: ${line}`)
  return options.mustMeetTargets && missed.length > 0 ? 1 : 0
}

/** Run a scenario. If it throws, that counts as a missed target, and the other scenarios still run. */
async function runSafely(run, scenario) {
  try {
    return await scenario.run(run)
  } catch (error) {
    run.log(`  ${error.stack}`)
    const measured = String(error.message).split('\n')[0]
    return { tables: [], targets: [{ text: 'the scenario runs', measured, isMet: false }] }
  }
}

/** Write the tables as Markdown and all rounds as JSON. */
function writeResults({ options, machine }, name, { text, rounds }) {
  const day = new Date().toISOString().slice(0, 10)
  const base = join(options.results, `${name}-node${/\d+/.exec(machine.node)[0]}`)
  writeFileSync(`${base}.md`, `${text}\n${describeEnvironment(machine, day)}.\n`)
  writeFileSync(`${base}.json`, JSON.stringify({ day, machine, rounds }, null, 2))
}

process.exitCode = await main(process.argv.slice(2))
