/** `npm run bench`: measures the built program beside named peers in alternating rounds of one run, and judges its promises. */
import { BenchUsageError, describeUsage, parseArguments } from './lib/arguments.mjs'
import { writeDocs } from './lib/docs.mjs'
import { describePlace, formatOutcome, listMissed } from './lib/report.mjs'
import { checkWritable, nameResults, writeResults } from './lib/results.mjs'
import { createRun } from './lib/run.mjs'
import { SCENARIOS } from './scenarios/index.mjs'

const USAGE_EXIT_CODE = 2
const STOPPED_EXIT_CODE = 130

process.exitCode = await main(process.argv.slice(2))

async function main(words) {
  try {
    const options = parseArguments(words, SCENARIOS)
    if (!options.wantsHelp) return await measure(createRun(options))
    process.stdout.write(describeUsage(SCENARIOS))
    return 0
  } catch (error) {
    if (!(error instanceof BenchUsageError)) throw error
    process.stderr.write(`${error.message}\n`)
    return USAGE_EXIT_CODE
  }
}

async function measure(run) {
  const { options } = run
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => {
      run.isStopping = true
      void run.dispose().finally(() => process.exit(STOPPED_EXIT_CODE))
    })
  const takenAt = new Date().toISOString()
  const facts = { machine: run.machine, tools: run.tools, takenOn: takenAt.slice(0, 10) }
  const outcomes = {}
  const path = nameResults(run)
  try {
    checkWritable(path)
    process.stdout.write(`${describePlace(facts)}\n`)
    for (const scenario of SCENARIOS.filter(({ name }) => options.scenarios.includes(name))) {
      run.say(`${scenario.name}: ${describeScenario(scenario, options)}`)
      const outcome = await runSafely(run, scenario)
      outcomes[scenario.name] = outcome
      process.stdout.write(`\n## ${scenario.name}\n\n${formatOutcome(outcome)}`)
      // Figures of a run that is stopped later are figures, too.
      writeResults(path, { run, takenAt, outcomes })
      if (options.writesDocs) await writeDocs(facts, scenario, outcome)
      await run.clear()
    }
  } finally {
    await run.dispose()
  }
  run.say(`every round: ${path}`)
  const missed = listMissed(outcomes)
  for (const line of missed) run.say(`missed: ${line}`)
  return options.mayJudge && missed.length > 0 ? 1 : 0
}

/** What a scenario does, with the number of products instead of the option's name. */
function describeScenario({ about }, { products }) {
  return about.replace('--products', products.toLocaleString('en'))
}

/** A scenario that breaks is a promise missed, and does not keep the others from running. */
async function runSafely(run, scenario) {
  const startedMs = performance.now()
  try {
    const outcome = await scenario.run(run)
    return { ...outcome, tookSeconds: Math.round((performance.now() - startedMs) / 1e3) }
  } catch (error) {
    // Told to stop: its programs are gone, and this process is about to.
    if (run.isStopping) return new Promise(() => {})
    run.say(`  ${error.stack}`)
    const measured = String(error.message).split('\n')[0]
    return { tables: [], promises: [{ text: 'the scenario can be run', measured, holds: false }] }
  }
}
