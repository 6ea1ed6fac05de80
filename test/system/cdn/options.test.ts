import { expect, test } from 'vitest'
import { OPTION_LIST } from '../../../src/widgets/option-list.ts'
import { readDeployFile } from './fixture.ts'

const NAMES = [...new Set(OPTION_LIST.map(({ name }) => name))].toSorted()

test('the cache keys of deploy/ - have every option, and no other name', () => {
  for (const file of ['varnish/vitrine.vcl', 'nginx/vitrine-cache.conf']) {
    const lists = readDeployFile(file, []).match(/theme\|accent[a-z_|]*/g) ?? []
    expect(lists.length, file).toBeGreaterThan(0)
    for (const list of lists) expect(list.split('|').toSorted(), file).toEqual(NAMES)
  }
})

test('the cache key of nginx - has the value of every option', () => {
  const [values = ''] = /"theme=\$arg_theme[^"]*"/.exec(readDeployFile('nginx/vitrine-cache.conf', [])) ?? []
  const pairs = [...values.matchAll(/([a-z_]+)=\$arg_([a-z_]+)/g)].map(
    ([, name, value]) => `${name} ${value}`,
  )
  expect(pairs.toSorted()).toEqual(NAMES.map((name) => `${name} ${name}`))
})
