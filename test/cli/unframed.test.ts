import { expect, test } from 'vitest'
import { findUnframedHint } from '../../src/cli/unframed.ts'
import { parseConfig } from '../../src/config/config.ts'

test.each([
  [null, undefined, true],
  [null, 'https://magazine.example', false],
  ['https://magazine.example', undefined, false],
])('channel at %s, VITRINE_FRAME_ANCESTORS %s - no site may frame it: %s', (url, ancestors, expected) => {
  const { config } = parseConfig({ VITRINE_FRAME_ANCESTORS: ancestors })
  expect(findUnframedHint(config, { id: 'a', url }) !== null).toBe(expected)
})

test('channel of the embedded catalog - the hint names the command that gives it an address', () => {
  const channel = { id: '11111111-2222-4333-8444-555555555555', url: null }
  const remote = { VITRINE_CATALOG_URL: 'https://catalog.example', VITRINE_CATALOG_KEY: 'a-key' }
  const command = `vitrine catalog channels set ${channel.id} --url`
  const embedded = findUnframedHint(parseConfig({}).config, channel)
  expect(embedded).toContain(command)
  expect(embedded).toContain('VITRINE_FRAME_ANCESTORS')
  const other = findUnframedHint(parseConfig(remote).config, channel)
  expect(other).not.toContain(command)
  expect(other).toContain('VITRINE_FRAME_ANCESTORS')
})
