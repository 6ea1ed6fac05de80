import { parseArgs } from 'node:util'

/** The command line asks for something that there is not. */
export class BenchUsageError extends Error {
  name = 'BenchUsageError'
}

const OPTIONS = {
  rounds: { type: 'string', default: '5' },
  seconds: { type: 'string', default: '2' },
  products: { type: 'string', default: '100000' },
  json: { type: 'string' },
  node: { type: 'string' },
  database: { type: 'string' },
  big: { type: 'boolean' },
  judge: { type: 'boolean' },
  'write-docs': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
}

/**
 * Reads the words after `npm run bench --`.
 * @param {readonly string[]} words
 * @param {readonly { name: string, isBig?: boolean }[]} scenarios all that there are, in the order in which they run
 * @throws BenchUsageError with one line that says what is accepted
 */
export function parseArguments(words, scenarios) {
  const { values, positionals } = readWords(words)
  const known = new Set(scenarios.map(({ name }) => name))
  const unknown = positionals.filter((name) => !known.has(name))
  if (unknown.length > 0)
    throw new BenchUsageError(`no scenario ${unknown.join(', ')}; there are ${[...known].join(', ')}`)
  const isBig = values.big === true
  const isWanted = ({ name, isBig: needsBig = false }) =>
    positionals.length === 0 ? isBig || !needsBig : positionals.includes(name)
  return {
    scenarios: scenarios.filter(isWanted).map(({ name }) => name),
    rounds: readNumber('rounds', values.rounds, { min: 1, isWhole: true }),
    seconds: readNumber('seconds', values.seconds, { min: 0.1, isWhole: false }),
    products: readNumber('products', values.products, { min: 200, isWhole: true }),
    jsonPath: values.json ?? null,
    nodePath: values.node ?? process.execPath,
    databaseUrl: values.database ?? null,
    mayJudge: values.judge !== false,
    writesDocs: values['write-docs'] === true,
    wantsHelp: values.help === true,
  }
}

function readWords(words) {
  try {
    const args = joinNegative(words)
    return parseArgs({ args, options: OPTIONS, allowPositionals: true, allowNegative: true })
  } catch (error) {
    throw new BenchUsageError(describeBadWords(error), { cause: error })
  }
}

/** `--seconds -1` as `--seconds=-1`: a number below zero is a number, and refused as one. */
function joinNegative(words) {
  const joined = []
  for (const word of words) {
    const isValue = /^-\d/.test(word) && OPTIONS[joined.at(-1)?.replace(/^--/, '')]?.type === 'string'
    if (isValue) joined.push(`${joined.pop()}=${word}`)
    else joined.push(word)
  }
  return joined
}

/** Node's words are for programmers. */
function describeBadWords(error) {
  const [, option, name] = /'(?:-\w, )?(--?([\w-]+))/.exec(error.message) ?? [undefined, 'an option', '']
  if (error.code === 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE')
    return OPTIONS[name]?.type === 'string' ? `${option} expects a value` : `${option} takes no value`
  if (error.code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION')
    return `no option ${option}; npm run bench -- --help lists all`
  return error.message
}

function readNumber(name, text, { min, isWhole }) {
  const value = Number(text)
  const isWritten = (isWhole ? /^\d+$/ : /^\d+(?:\.\d+)?$/).test(text)
  if (isWritten && value >= min && value <= Number.MAX_SAFE_INTEGER) return value
  throw new BenchUsageError(
    `--${name} expects a ${isWhole ? 'whole ' : ''}number from ${min} on, in digits, not ${text === '' ? 'nothing' : text}`,
  )
}

/**
 * What `--help` prints.
 * @param {readonly { name: string, about: string }[]} scenarios
 */
export function describeUsage(scenarios) {
  const rows = scenarios.map(({ name, about }) => `  ${name.padEnd(20)} ${about}`)
  return `npm run bench -- [scenario ...] [options]

Scenarios (all but the big ones when none is named):
${rows.join('\n')}

Options:
  --rounds N           rounds of each scenario, peers one after the other in each (5)
  --seconds N          seconds of a round (2)
  --products N         products of the catalog that is walked (100000)
  --big                the big scenarios, too
  --json FILE          where every round is written, after each scenario (bench/results-MAJOR.json)
  --node PATH          the Node that runs every server, ours and the peers (this one)
  --database URL       an empty PostgreSQL database for sizing-postgres: postgres://user@host/name (its own)
  --no-judge           exit code 0 whatever was measured
  --write-docs         puts the tables into docs/performance.md and docs/sizing.md
  --help               this text
`
}
