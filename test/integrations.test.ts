import { readFile } from 'node:fs/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { getVitrineBox } from '../integrations/nextjs/vitrine.ts'
import { OPTION_LIST } from '../src/widgets/option-list.ts'

// `URL.canParse` of Node rejects such hosts once it has been optimized.
test('Next.js, server with a non-ASCII host - the box is shown at every visit', async () => {
  const fetched = vi
    .spyOn(globalThis, 'fetch')
    .mockImplementation(() => Promise.resolve(new Response('<p>box</p>')))
  onTestFinished(() => fetched.mockRestore())
  const seen = new Set<string>()
  for (let visits = 0; visits < 100_000; visits += 1)
    seen.add(await getVitrineBox('https://preise.münchen.example/fragments/1/deals'))
  expect(seen).toEqual(new Set(['<p>box</p>']))
})

const WORDPRESS = new URL('../integrations/wordpress/vitrine/', import.meta.url)

test.each(['where-to-buy', 'picks', 'deals'] as const)(
  'WordPress, %s - shortcode and block have exactly the options of the server',
  async (widget) => {
    const rows = OPTION_LIST.filter((row) => row.widget === 'all' || row.widget === widget)
    const names = rows.map(({ name }) => name).toSorted()
    const address = await readFile(new URL('includes/address.php', WORDPRESS), 'utf8')
    const constant = `VITRINE_${widget.replaceAll('-', '_').toUpperCase()}`
    const lists = [/\$common = array\(([^)]*)\)/, new RegExp(`${constant} +=> array\\(([^)]*)\\)`)]
    const listed = lists.flatMap((pattern) => pattern.exec(address)?.[1]?.match(/\w+/g) ?? [])
    expect(listed.toSorted()).toEqual(names)
    const block = await readFile(new URL(`blocks/${widget}/block.json`, WORDPRESS), 'utf8')
    const { attributes } = JSON.parse(block) as Readonly<{ attributes: Readonly<Record<string, unknown>> }>
    const products = { 'where-to-buy': ['gtin'], picks: ['gtins'], deals: [] }[widget]
    const blockNames = Object.keys(attributes).map((name) => (name === 'labels' ? 'label' : name))
    expect(blockNames.toSorted()).toEqual(['channel', ...products, ...names].toSorted())
  },
)
