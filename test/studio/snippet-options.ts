import { type SnippetOptions, listSnippets } from '../../src/studio/snippets.ts'

/** Breaks out of every context that does not escape it. */
export const HOSTILE = '"><script>alert(1)</script>&amp; \\ [/vitrine] \' <?php ?> --> #'

const QUERY = new URLSearchParams({ theme: 'dark', q: HOSTILE }).toString()

/** A widget whose values all contain the hostile text. */
export const OPTIONS: SnippetOptions = {
  publicUrl: 'https://widgets.example',
  fragmentUrl: `https://widgets.example/fragments/c/deals?${QUERY}`,
  embedUrl: `https://widgets.example/embeds/c/deals?${QUERY}`,
  title: 'Where to buy "Lumen" <Arc> & more',
  caption: `Lumen Arc, ${HOSTILE}\n\u2028Magazine`,
  frameHeightPx: 670,
  reservedHeightPx: 540,
  attributes: [
    { name: 'data-vitrine', value: 'deals' },
    { name: 'data-channel', value: 'c' },
    { name: 'data-q', value: HOSTILE },
  ],
  shortcode: {
    name: 'vitrine_deals',
    attributes: [
      { name: 'channel', value: 'c' },
      { name: 'q', value: HOSTILE },
    ],
  },
  pinnedScript: { url: 'https://widgets.example/assets/embed.00000000.js', integrity: 'sha384-a+b/c=' },
}

export function findCode(id: string, over: Partial<SnippetOptions> = {}): string {
  return listSnippets({ ...OPTIONS, ...over }).find((snippet) => snippet.id === id)?.code ?? 'no such snippet'
}
