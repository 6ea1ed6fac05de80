/** `npm run bench`: measures the built program beside named peers in alternating rounds, and judges its targets. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { describePlace, formatOutcome } from './lib/report.mjs'
import { createRun } from './lib/run.mjs'
import { cold } from './scenarios/cold.mjs'
import { copy } from './scenarios/copy.mjs'
import { grids } from './scenarios/grids.mjs'
import { hot } from './scenarios/hot.mjs'
import { importing } from './scenarios/import.mjs'
import { memory } from './scenarios/memory.mjs'
import { mix } from './scenarios/mix.mjs'
import { sizing } from './scenarios/sizing.mjs'
import { start } from './scenarios/start.mjs'
import { walk } from './scenarios/walk.mjs'
import { workers } from './scenarios/workers.mjs'

const SCENARIOS = [hot, mix, cold, copy, grids, walk, importing, start, memory, workers, sizing]

const USAGE = `npm run bench -- [scenario ...] [options]

Scenarios (all when none is named):
${SCENARIOS.map(({ name, about }) => `  ${name.padEnd(9)} ${about}`).join('\n')}

Options:
  --rounds N      rounds of each scenario; peers take turns in each (5)
  --seconds N     seconds of a round (2)
  --products N    products that are walked and imported (100000); targets need at least that many
  --node PATH     the Node that runs every server, ours and the peers (this one)
  --database URL  an empty PostgreSQL database for sizing, in place of SQLite
  --results DIR   where tables and rounds are written (bench/results)
  --no-judge      exit code 0 even if a target is missed
`

const USAGE_EXIT_CODE = 2

/** @returns options of the run, or a text that says what is wrong */
function readArguments(words) {
  const text = { type: 'string' }
  const options = {
    rounds: text,
    seconds: text,
    products: text,
    node: text,
    database: text,
    results: text,
    judge: { type: 'boolean' },
    help: { type: 'boolean' },
  }
  try {
    const parsed = parseArgs({ args: words, options, allowPositionals: true, allowNegative: true })
    const { values, positionals: names } = parsed
    const unknown = names.filter((name) => SCENARIOS.every((scenario) => scenario.name !== name))
    if (unknown.length > 0) return `There is no scenario ${unknown.join(', ')}.\n\n${USAGE}`
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
      mayJudge: values.judge !== false,
      wantsHelp: values.help === true,
    }
  } catch (error) {
    return `${error.message}\n\n${USAGE}`
  }
}

async function main(words) {
  const options = readArguments(words)
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
      run.say(`${scenario.name}: ${scenario.about}`)
      const outcome = await runSafely(run, scenario)
      const text = `## ${scenario.name}\n\n${formatOutcome(outcome)}`
      process.stdout.write(`\n${text}`)
      writeResults(run, scenario.name, { text, rounds: outcome.rounds })
      const lost = outcome.targets.filter(({ holds }) => holds === false)
      missed.push(...lost.map((target) => `${scenario.name}: ${target.text}; measured ${target.measured}`))
      await run.stopAll()
    }
  } finally {
    await run.dispose()
  }
  for (const line of missed) run.say(`missed: ${line}`)
  return options.mayJudge && missed.length > 0 ? 1 : 0
}

/** A scenario that fails counts as a missed target, and does not keep the others from running. */
async function runSafely(run, scenario) {
  try {
    return await scenario.run(run)
  } catch (error) {
    run.say(`  ${error.stack}`)
    const measured = String(error.message).split('\n')[0]
    return { tables: [], targets: [{ text: 'the scenario runs', measured, holds: false }] }
  }
}

/** Tables for readers, and every round as JSON. */
function writeResults({ options, machine }, name, { text, rounds }) {
  const day = new Date().toISOString().slice(0, 10)
  const base = join(options.results, `${name}-node${/\d+/.exec(machine.node)[0]}`)
  writeFileSync(`${base}.md`, `${text}\n${describePlace(machine, day)}.\n`)
  writeFileSync(`${base}.json`, JSON.stringify({ day, machine, rounds }, null, 2))
}

process.exitCode = await main(process.argv.slice(2))
