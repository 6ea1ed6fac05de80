import { readFileSync } from 'node:fs'
import { ConfigError } from '../errors.ts'

/** Fewer are not enough to load the modules, the databases and the threads. */
const MIN_OPEN_FILES = 128

/** @throws ConfigError when the way this process was started leaves it unable to serve, which no restart changes */
export function checkProcessLimits(): void {
  const problems = [findOpenFilesProblem(), findCompilerProblem()].filter((problem) => problem !== undefined)
  if (problems.length > 0) throw new ConfigError(problems)
}

function findOpenFilesProblem(): string | undefined {
  const limit = readOpenFilesLimit()
  if (limit >= MIN_OPEN_FILES) return undefined
  return `limit of open files: ${limit} are too few; allow at least ${MIN_OPEN_FILES} by "ulimit -n", LimitNOFILE= of systemd or --ulimit of Docker`
}

/** Node raises the soft limit to the hard one. Return `Infinity` where the system does not say. */
function readOpenFilesLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity)
  } catch {
    return Infinity
  }
}

/** Eta compiles the templates to functions. */
function findCompilerProblem(): string | undefined {
  try {
    // oxlint-disable-next-line no-new-func, no-implied-eval -- constant text
    return new Function('')() as undefined
  } catch {
    return 'NODE_OPTIONS: remove --disallow-code-generation-from-strings, because the server compiles its templates'
  }
}
