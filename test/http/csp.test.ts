import { CspEvaluator } from 'csp_evaluator/dist/evaluator.js'
import { Severity } from 'csp_evaluator/dist/finding.js'
import { CspParser } from 'csp_evaluator/dist/parser.js'
import { expect, test } from 'vitest'
import { BOX, BOX_EMBED, GRID_EMBED, GTIN, startStockedHarness, fetchPath } from '../app/app-client.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'

/** Findings of an independent checker with high or medium severity, also possible ones. */
function listWeaknesses(policy: string): string[] {
  return new CspEvaluator(new CspParser(policy).csp)
    .evaluate()
    .filter(({ severity }) => severity < Severity.STRICT_CSP)
    .map(({ directive, description }) => `${directive}: ${description}`)
}

const admin = { Authorization: `Basic ${btoa('admin:pass')}` }

test.each([
  BOX,
  BOX_EMBED,
  GRID_EMBED,
  `${BOX_EMBED}?limit=0`,
  '/studio',
  '/studio?tab=deals',
  `/studio/sentence?channel=${CHANNEL_ID}&gtin=${GTIN}`,
  '/nothing',
])('content security policy of %s - has no known weakness', async (path) => {
  const harness = await startStockedHarness(undefined, { settings: { VITRINE_ADMIN_PASSWORD: 'pass' } })
  const { headers } = await fetchPath(harness, path, admin)
  const policy = headers['content-security-policy'] ?? ''
  expect(policy).toContain("default-src 'none'")
  expect(policy).not.toMatch(/unsafe|nonce-|data:/)
  expect(listWeaknesses(policy)).toEqual([])
})

test('weak policy - is found by the checker', () => {
  expect(listWeaknesses("script-src 'unsafe-inline' https:")).not.toEqual([])
})
