import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { findNodeProblem } from '../../src/lib/node-version.ts'

const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } }

test.each(['20.19.0', '20.20.2', '22.0.0', '24.21.0'])('Node %s - is new enough', (version) =>
  expect(findNodeProblem(version, engines.node)).toBeNull(),
)

test.each(['20.18.9', '18.20.8', '9.0.0'])(
  'Node %s - is too old; the message has the needed version',
  (version) =>
    expect(findNodeProblem(version, engines.node)).toBe(
      `vitrine: Node ${version} is too old; install version 20.19 or later from https://nodejs.org`,
    ),
)
