import { describe, expect, test } from 'vitest'
import { type SnippetDetails, listSnippets } from '../../src/widgets/snippets.ts'
import { getAttribute, listElements } from '../app/visit.ts'

const DETAILS: SnippetDetails = {
  publicUrl: 'https://widgets.example',
  fragmentUrl: 'https://widgets.example/fragments/c/deals?theme=dark&locale=de',
  embedUrl: 'https://widgets.example/embeds/c/deals?theme=dark&locale=de',
  title: 'Where to buy "Lumen" <Arc> & more',
  frameHeightPx: 670,
  attributes: [
    { name: 'data-vitrine', value: 'deals' },
    { name: 'data-channel', value: 'c' },
    { name: 'data-q', value: '"><script>&amp;' },
  ],
}

function find(id: string, over: Partial<SnippetDetails> = {}): string {
  return listSnippets({ ...DETAILS, ...over }).find((snippet) => snippet.id === id)?.code ?? 'no such snippet'
}

describe('snippets', () => {
  test('list - the easiest first, each with a label and a note', () => {
    const snippets = listSnippets(DETAILS)
    expect(snippets.map(({ id }) => id)).toEqual(['loader', 'iframe', 'ssi', 'esi', 'php', 'fetch'])
    for (const { label, note } of snippets) expect([label, note]).not.toContain('')
  })

  test('loader - a placeholder with every attribute, then the script', () => {
    const [placeholder, script] = listElements(find('loader'))
    expect(placeholder?.tagName).toBe('div')
    expect(placeholder?.attrs).toEqual(DETAILS.attributes)
    expect(script?.tagName).toBe('script')
    expect(script && getAttribute(script, 'src')).toBe('https://widgets.example/embed.js')
    expect(find('loader')).toMatch(/<\/div>\n<script async src=/)
    expect(listElements(find('loader'))).toHaveLength(2)
  })

  test('iframe - its address, title and fixed height read back as they are', () => {
    const elements = listElements(find('iframe'))
    expect(elements).toHaveLength(1)
    expect(Object.fromEntries(elements[0]?.attrs.map(({ name, value }) => [name, value]) ?? [])).toEqual({
      src: DETAILS.embedUrl,
      title: DETAILS.title,
      width: '100%',
      height: '670',
      loading: 'lazy',
      style: 'border:0',
    })
  })

  test('includes - the path below /vitrine with its query, escaped only where it is markup', () => {
    expect(find('ssi')).toBe('<!--# include virtual="/vitrine/fragments/c/deals?theme=dark&locale=de" -->')
    expect(find('esi')).toBe('<esi:include src="/vitrine/fragments/c/deals?theme=dark&amp;locale=de"/>')
  })

  test('public address with a path - is left out of the includes, kept elsewhere', () => {
    const over = {
      publicUrl: 'https://widgets.example/sub',
      fragmentUrl: 'https://widgets.example/sub/fragments/c/deals',
    }
    expect(find('ssi', over)).toBe('<!--# include virtual="/vitrine/fragments/c/deals" -->')
    expect(find('esi', over)).toBe('<esi:include src="/vitrine/fragments/c/deals"/>')
    expect(find('fetch', over)).toBe("curl --max-time 1 'https://widgets.example/sub/fragments/c/deals'")
    expect(find('loader', over)).toContain('src="https://widgets.example/sub/embed.js"')
  })

  test('PHP - one second, no redirects, no warning', () => {
    expect(find('php')).toBe(
      "<?php $context = stream_context_create(['http' => ['timeout' => 1, 'follow_location' => 0]]);\n" +
        "echo (string) @file_get_contents('https://widgets.example/fragments/c/deals?theme=dark&locale=de', false, $context); ?>",
    )
  })

  test('quote and backslash in an address - stay inside the string of PHP and of the shell', () => {
    const over = { fragmentUrl: String.raw`https://widgets.example/fragments/c/deals?q='\x` }
    expect(find('php', over)).toContain(
      String.raw`file_get_contents('https://widgets.example/fragments/c/deals?q=\'\\x', false`,
    )
    expect(find('fetch', over)).toBe(
      String.raw`curl --max-time 1 'https://widgets.example/fragments/c/deals?q=%27\x'`,
    )
  })
})
