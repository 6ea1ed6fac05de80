/** `node scripts/test-report.mjs REPORT.json`: print the ten slowest test files and the failed tests with their messages to standard error, "PASSED FAILED" to standard output. */
import { readFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

const SLOWEST = 10

/** Enough for the counterexample of a property. */
const MAX_MESSAGE_CHARACTERS = 2_000

/** Return what stands before the stack trace, on one line. */
const describeFailure = (message) =>
  stripVTControlCharacters(message)
    .split(/\n +at /)[0]
    .replaceAll(/\s+/g, ' ')
    .slice(0, MAX_MESSAGE_CHARACTERS)

const { testResults, numPassedTests, numFailedTests, numFailedTestSuites } = JSON.parse(
  await readFile(process.argv[2], 'utf8'),
)
const files = testResults
  .map(({ name, startTime, endTime }) => ({ name, seconds: (endTime - startTime) / 1_000 }))
  .sort((a, b) => b.seconds - a.seconds)
console.error('the slowest test files, in seconds:')
for (const { name, seconds } of files.slice(0, SLOWEST))
  console.error(`${seconds.toFixed(1).padStart(7)}  ${relative(process.cwd(), name)}`)
for (const { name, status, message, assertionResults } of testResults) {
  const tests = assertionResults.filter((result) => result.status === 'failed')
  const failed =
    tests.length === 0 && status === 'failed'
      ? [{ fullName: 'did not load', failureMessages: [message] }]
      : tests
  for (const { fullName, failureMessages } of failed) {
    console.error(`failed: ${relative(process.cwd(), name)}: ${fullName}`)
    for (const failure of failureMessages) console.error(`  ${describeFailure(failure)}`)
  }
}
// A file that fails to load reports no failed test.
console.log(`${numPassedTests} ${numFailedTests === 0 ? numFailedTestSuites : numFailedTests}`)
