import { expect, test } from 'vitest'
import { isUnframed } from '../../src/commands/unframed.ts'
import { parseConfig } from '../../src/config/parse-config.ts'

test.each([
  [null, undefined, true],
  [null, 'https://magazine.example', false],
  ['https://magazine.example', undefined, false],
])('channel at %s, VITRINE_FRAME_ANCESTORS %s - no site may frame it: %s', (url, ancestors, expected) => {
  const { config } = parseConfig({ VITRINE_FRAME_ANCESTORS: ancestors })
  expect(isUnframed(config, { url })).toBe(expected)
})
