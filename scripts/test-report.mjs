/** `node scripts/test-report.mjs REPORT.json`: print the ten slowest test files and the failed tests to standard error, "PASSED FAILED" to standard output. */
import { readFile } from 'node:fs/promises'
import { relative } from 'node:path'

const SLOWEST = 10

const { testResults, numPassedTests, numFailedTests, numFailedTestSuites } = JSON.parse(
  await readFile(process.argv[2], 'utf8'),
)
const files = testResults
  .map(({ name, startTime, endTime }) => ({ name, seconds: (endTime - startTime) / 1_000 }))
  .sort((a, b) => b.seconds - a.seconds)
console.error('the slowest test files, in seconds:')
for (const { name, seconds } of files.slice(0, SLOWEST))
  console.error(`${seconds.toFixed(1).padStart(7)}  ${relative(process.cwd(), name)}`)
for (const { name, status, assertionResults } of testResults) {
  const failed = assertionResults.filter((result) => result.status === 'failed')
  const names =
    failed.length === 0 && status === 'failed' ? ['did not load'] : failed.map(({ fullName }) => fullName)
  for (const fullName of names) console.error(`failed: ${relative(process.cwd(), name)}: ${fullName}`)
}
// A file that fails to load reports no failed test.
console.log(`${numPassedTests} ${numFailedTests === 0 ? numFailedTestSuites : numFailedTests}`)
