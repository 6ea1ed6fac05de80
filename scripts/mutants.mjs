/**
 * `node scripts/mutants.mjs [--seed 1] [--count 30] [--near 12] [--whole] [--list] [--file PART]`: change single places of `src/`
 * and see whether the fast tests notice. Each mutant runs the nearest tests that import its file; `--whole` runs all
 * fast tests once with all survivors together, then its failing files with each. A copy of the tree is changed, not the tree.
 */
import { execFileSync, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, matchesGlob, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { resolveConfig } from 'vitest/node'
import { listMutants, parseSource } from './mutations.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** For PostgreSQL and for several processes: only system tests run them. Other such files are excluded from the coverage. */
const SYSTEM_ONLY = ['src/**/*postgres*.ts', 'src/cluster/**', 'src/database/check-server.ts']

/** A mutant that hangs is noticed, but a busy machine is none. */
const TEST_TIMEOUT_MS = 300_000

/** Tests of one mutant: one worker loads the modules once, and the first failure is enough. */
const ONE_MUTANT = { args: ['--bail=1', '--maxWorkers=1'], timeoutMs: 600_000 }
const ALL_SURVIVORS = { args: [], timeoutMs: 3_600_000 }

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '30' },
    near: { type: 'string', default: '12' },
    whole: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    file: { type: 'string', default: '' },
  },
})

const print = (line) => void process.stdout.write(`${line}\n`)

/** Return numbers from 0 to 1 that depend on the seed only (mulberry32). */
function createRandom(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const listTrackedFiles = () =>
  execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
    .split('\0')
    .filter((path) => path !== '')

/** Return the mutants of each line of the sampled files, by `path:line`. */
async function listMutantsByLine(files) {
  const { vitestConfig } = await resolveConfig({ root: ROOT })
  const excluded = [...SYSTEM_ONLY, ...vitestConfig.coverage.exclude]
  const lines = new Map()
  for (const path of files) {
    if (!/^src\/.*\.ts$/.test(path) || !path.includes(options.file)) continue
    if (excluded.some((pattern) => matchesGlob(path, pattern))) continue
    const text = await readFile(join(ROOT, path), 'utf8')
    for (const mutant of listMutants(text)) {
      const place = `${path}:${mutant.line}`
      lines.set(place, [...(lines.get(place) ?? []), { path, text, ...mutant }])
    }
  }
  return lines
}

/** Choose lines at random, so a file counts by its lines; on each a kind of change, and one of the kind. */
async function sampleMutants(files) {
  const lines = await listMutantsByLine(files)
  const random = createRandom(Number(options.seed))
  const pick = (list) => list[Math.floor(random() * list.length)]
  const places = [...lines.keys()]
  const chosen = []
  while (chosen.length < Number(options.count) && places.length > 0) {
    const [place] = places.splice(Math.floor(random() * places.length), 1)
    const kind = pick([...new Set(lines.get(place).map((mutant) => mutant.kind))])
    const mutant = pick(lines.get(place).filter((one) => one.kind === kind))
    // Survivors are changed together, so they must not overlap.
    if (!chosen.some((one) => isOverlapping(one, mutant)) && isValid(toMutatedText(mutant)))
      chosen.push(mutant)
  }
  return chosen
}

const isOverlapping = (one, other) =>
  one.path === other.path && one.start < other.end && other.start < one.end

const toMutatedText = ({ text, start, end, after }) => text.slice(0, start) + after + text.slice(end)

function isValid(text) {
  try {
    parseSource(text)
    return true
  } catch {
    return false
  }
}

/** Return by file: the files that import it. */
async function readImporters(files) {
  const importers = new Map()
  for (const path of files.filter((file) => /^(?:src|test)\/.*\.ts$/.test(file))) {
    const text = await readFile(join(ROOT, path), 'utf8')
    for (const [, target] of text.matchAll(/(?:from|import|import\(|URL\()\s*'(\.[^']*\.ts)'/g)) {
      const imported = relative(ROOT, join(ROOT, dirname(path), target))
      importers.set(imported, [...(importers.get(imported) ?? []), path])
    }
  }
  return importers
}

/** Return the fast tests that import a file, the nearest first: by the length of the chain, its folder and its name. */
function listRelatedTests(path, importers) {
  const distances = new Map([[path, 0]])
  for (const [file, distance] of distances)
    for (const importer of importers.get(file) ?? [])
      if (!distances.has(importer)) distances.set(importer, distance + 1)
  const folder = dirname(path).replace(/^src/, 'test')
  const toScore = ([test, distance]) =>
    distance -
    (basename(test) === basename(path).replace('.ts', '.test.ts') ? 4 : 0) -
    (test.startsWith(folder) ? 2 : 0)
  return [...distances]
    .filter(([file]) => file.endsWith('.test.ts') && !file.startsWith('test/system/'))
    .toSorted((left, right) => toScore(left) - toScore(right))
    .map(([file]) => file)
}

async function copyTree(files) {
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-mutants-'))
  for (const path of files) {
    await mkdir(join(folder, dirname(path)), { recursive: true })
    // A file that was deleted but not yet committed has nothing to copy.
    await cp(join(ROOT, path), join(folder, path), { verbatimSymlinks: true }).catch(() => {})
  }
  for (const parent of ['', 'test/system', 'site', 'packages/embed'])
    await symlink(join(ROOT, parent, 'node_modules'), join(folder, parent, 'node_modules'))
  return folder
}

/** Run tests in the copy. Return the failures as `file: test`, or `null` if the run had no result in time. */
async function runTests(folder, tests, { args, timeoutMs }) {
  const report = join(folder, 'mutants.json')
  await rm(report, { force: true })
  const cache = ['--experimental.fsModuleCache', `--experimental.fsModuleCachePath=${join(folder, '.cache')}`]
  const limits = [`--testTimeout=${TEST_TIMEOUT_MS}`, `--hookTimeout=${TEST_TIMEOUT_MS}`, ...args]
  const output = ['--reporter=json', `--outputFile=${report}`]
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
  const code = await new Promise((resolve) => {
    const child = spawn(
      process.execPath,
      [vitest, 'run', '--project', 'fast', ...cache, ...limits, ...output, ...tests],
      {
        cwd: folder,
        env: { ...process.env, CI: '1' },
        stdio: 'ignore',
        timeout: timeoutMs,
        killSignal: 'SIGKILL',
      },
    )
    child.on('close', resolve)
  })
  if (code === 0) return []
  const text = await readFile(report, 'utf8').catch(() => undefined)
  if (text === undefined) return null
  const failures = JSON.parse(text).testResults.flatMap(({ name, status, assertionResults }) => {
    const file = relative(folder, name)
    const failed = assertionResults.filter((result) => result.status === 'failed')
    if (failed.length > 0)
      return failed.map(({ fullName, failureMessages }) => ({
        file,
        test: /timed out in/.test(failureMessages.join(' ')) ? `${fullName} (timed out)` : fullName,
      }))
    return status === 'failed' ? [{ file, test: 'the file itself' }] : []
  })
  return failures.length > 0 ? failures : null
}

/** Whether the mutants of a copy compile: the others are no mutants, because the type check notices them. */
function compiles(folder) {
  try {
    // A removed statement leaves imports and variables without use.
    const unused = ['--noUnusedLocals', 'false', '--noUnusedParameters', 'false']
    execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.json', ...unused], {
      cwd: folder,
      stdio: 'ignore',
    })
    return true
  } catch {
    return false
  }
}

/** Apply the mutants, which are in different places, then run `callback` and restore the files. */
async function withMutants(folder, mutants, callback) {
  const byPath = groupByPath(mutants)
  for (const [path, group] of byPath) {
    let { text } = group[0]
    for (const mutant of group.toSorted((left, right) => right.start - left.start))
      text = toMutatedText({ ...mutant, text })
    await writeFile(join(folder, path), text)
  }
  try {
    return await callback()
  } finally {
    for (const [path, [{ text }]] of byPath) await writeFile(join(folder, path), text)
  }
}

function groupByPath(mutants) {
  const groups = new Map()
  for (const mutant of mutants) groups.set(mutant.path, [...(groups.get(mutant.path) ?? []), mutant])
  return groups
}

const toOneLine = (text) => {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > 70 ? `${line.slice(0, 69)}…` : line
}

const describe = ({ path, line, before, after }) =>
  `${path}:${line}  ${toOneLine(before)} -> ${after === '' ? '(removed)' : after}`

const describeFailures = (failures) =>
  failures === null
    ? 'killed: the run ended early or hung'
    : `killed by ${failures[0].file}: ${failures[0].test}`

async function runNearTests(folder, mutants, importers) {
  const survivors = []
  let killed = 0
  let undecided = 0
  const isPassing = createBaseline(folder)
  for (const [index, mutant] of mutants.entries()) {
    const nearest = listRelatedTests(mutant.path, importers).slice(0, Number(options.near))
    const tests = []
    for (const file of nearest) if (await isPassing(file)) tests.push(file)
    let verdict = await withMutants(folder, [mutant], async () => {
      const failures = tests.length === 0 ? [] : await runTests(folder, tests, ONE_MUTANT)
      if (failures === null) return 'not decided: the run ended early or hung'
      if (failures.length > 0) return describeFailures(failures)
      return compiles(folder) ? 'survived' : 'does not compile'
    })
    if (verdict === 'survived') survivors.push(mutant)
    else if (verdict.startsWith('not decided')) undecided += 1
    else if (verdict !== 'does not compile') killed += 1
    if (verdict === 'survived' && tests.length === 0) verdict = 'no related test'
    print(`${index + 1} ${describe(mutant)}\n    ${verdict}`)
  }
  if (undecided > 0) print(`${undecided} not decided`)
  return { survivors, killed }
}

/** Return a function that tells whether a test file passes without a mutant in the copy of the tree. */
function createBaseline(folder) {
  const results = new Map()
  return async (file) => {
    if (!results.has(file)) results.set(file, (await runTests(folder, [file], ONE_MUTANT))?.length === 0)
    return results.get(file)
  }
}

const listFiles = (failures) => [...new Set((failures ?? []).map(({ file }) => file))]

/** Run all fast tests with all survivors at once, then the files that failed with each. Return what still survives. */
async function runWhole(folder, mutants) {
  const failing = listFiles(await withMutants(folder, mutants, () => runTests(folder, [], ALL_SURVIVORS)))
  const clean = failing.length === 0 ? [] : listFiles(await runTests(folder, failing, ALL_SURVIVORS))
  const tests = failing.filter((file) => !clean.includes(file))
  print(`all fast tests: ${tests.length} files fail with the survivors; ${clean.length} fail without them`)
  if (tests.length === 0) return mutants
  const survivors = []
  for (const mutant of mutants) {
    const failures = await withMutants(folder, [mutant], () => runTests(folder, tests, ONE_MUTANT))
    if (failures?.length === 0) survivors.push(mutant)
    else print(`${describe(mutant)}\n    ${describeFailures(failures)}`)
  }
  return survivors
}

const files = listTrackedFiles()
const mutants = await sampleMutants(files)
if (options.list) {
  for (const mutant of mutants) print(describe(mutant))
} else {
  const folder = await copyTree(files)
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => {
      rmSync(folder, { recursive: true, force: true })
      process.exit(1)
    })
  try {
    const { survivors, killed } = await runNearTests(folder, mutants, await readImporters(files))
    const surviving = options.whole && survivors.length > 0 ? await runWhole(folder, survivors) : survivors
    const decided = killed + survivors.length
    print(`\nsurvivors:`)
    for (const mutant of surviving) print(describe(mutant))
    print(`${decided - surviving.length} of ${decided} mutants killed, seed ${options.seed}`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
process.exit()
