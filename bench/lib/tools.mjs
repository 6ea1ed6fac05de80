import { accessSync, constants, readFileSync } from 'node:fs'
import { execFileSync, spawnSync } from 'node:child_process'
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os'
import { createRequire } from 'node:module'
import { delimiter, join } from 'node:path'
import { BenchUsageError } from './arguments.mjs'

const require = createRequire(import.meta.url)

/** How each program tells its version. */
const VERSION_WORDS = { wrk: '-v', h2load: '--version', nginx: '-v', varnishd: '-V', taskset: '--version' }

/**
 * The programs that are installed here, with the first line of what they say of their version.
 * @returns {Record<string, string>}
 */
export function findTools() {
  const tools = {}
  for (const [name, word] of Object.entries(VERSION_WORDS)) {
    const path = findProgram(name)
    if (path === null) continue
    const { stdout, stderr } = spawnSync(path, [word], { encoding: 'utf8' })
    tools[name] = toVersion(`${stdout}${stderr}`)
  }
  return tools
}

/** The path of a program, also where administrators' programs are; `null` when it is not installed. */
export function findProgram(name) {
  for (const folder of [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']) {
    const path = join(folder, name)
    try {
      accessSync(path, constants.X_OK)
      return path
    } catch {
      continue
    }
  }
  return null
}

function toVersion(text) {
  return /\d+\.\d+(?:\.\d+)?/.exec(text)?.[0] ?? 'of an unknown version'
}

/**
 * What a reader of the figures must know of the machine.
 * @param {string} nodePath the Node of the servers
 */
export function describeMachine(nodePath) {
  return {
    cpu: cpus()[0]?.model.trim() || 'unknown',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 1e9),
    kernel: release(),
    loadAverage: loadavg()[0],
    node: findNodeVersion(nodePath),
    loadNode: process.version,
    version: require('../../package.json').version,
    commit: findCommit(),
    packages: Object.fromEntries(
      ['express', 'eta', 'fastify', 'autocannon'].map((name) => [name, findPackageVersion(name)]),
    ),
  }
}

function findNodeVersion(nodePath) {
  const { stdout } = spawnSync(nodePath, ['--version'], { encoding: 'utf8' })
  if (!/^v\d+\./.test(stdout ?? '')) throw new BenchUsageError(`--node: ${nodePath} is no Node`)
  return stdout.trim()
}

function findCommit() {
  try {
    const isChanged = askGit('status', '--porcelain', '--', ':/src', ':/views', ':/package.json') !== ''
    return askGit('rev-parse', '--short', 'HEAD') + (isChanged ? ' with changes' : '')
  } catch {
    return null
  }
}

function askGit(...words) {
  const stdio = ['ignore', 'pipe', 'ignore']
  return execFileSync('git', words, { encoding: 'utf8', stdio, cwd: import.meta.dirname }).trim()
}

function findPackageVersion(name) {
  for (const folder of require.resolve.paths(name) ?? []) {
    try {
      return JSON.parse(readFileSync(join(folder, name, 'package.json'), 'utf8')).version
    } catch {
      continue
    }
  }
  return 'unknown'
}
