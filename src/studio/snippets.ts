export type FrameAttribute = Readonly<{ name: string; value: string }>

export type SnippetOptions = Readonly<{
  publicUrl: string
  fragmentUrl: string
  embedUrl: string
  title: string
  /** What the snippet shows, for people: names in place of the ids in addresses. */
  caption: string
  /** Fixed height of an iframe without the loader, for a phone. */
  frameHeightPx: number
  /** Height that the loader reserves in the column of an article. */
  reservedHeightPx: number
  attributes: readonly FrameAttribute[]
  shortcode: Readonly<{ name: string; attributes: readonly FrameAttribute[] }>
  pinnedScript: Readonly<{ url: string; integrity: string }>
}>

/**
 * List the ways to embed a widget, the easiest first. `isFrame`: a block of the page, so never a part of a sentence.
 * `blockNote`: the part of the note about blocks, which suit no sentence either.
 */
export function listSnippets(options: SnippetOptions) {
  return [...listCodeOfPages(options), ...listCodeOfServers(options)]
}

function listCodeOfPages(options: SnippetOptions) {
  const { publicUrl, fragmentUrl, embedUrl, title, pinnedScript } = options
  const placeholder = toPlaceholder(options)
  const htmlComment = `<!-- ${toComment(options.caption)} -->\n`
  return [
    {
      id: 'loader',
      isFrame: true,
      label: 'Script (any page)',
      note: 'An iframe that adapts its height and collapses when there is nothing to show. No cookies, no browser storage. One script serves all placeholders of a page.',
      code: `${htmlComment}${placeholder}\n<script async src="${escapeAttribute(publicUrl)}/embed.js"></script>`,
    },
    {
      id: 'iframe',
      isFrame: true,
      label: 'Plain iframe (no script)',
      note: 'For editors that strip scripts. The height is fixed; this value fits a phone.',
      code: `${htmlComment}<iframe src="${escapeAttribute(embedUrl)}" title="${escapeAttribute(title)}" width="100%" height="${options.frameHeightPx}" loading="lazy" style="border:0;margin-block-end:1.5em"></iframe>`,
    },
    {
      id: 'pinned',
      isFrame: true,
      label: 'Pinned script (integrity hash)',
      note: 'The same script at an address whose content never changes; the browser rejects any other content. The address stays valid, but never receives fixes.',
      code: `${htmlComment}${placeholder}\n<script async src="${escapeAttribute(pinnedScript.url)}" integrity="${pinnedScript.integrity}" crossorigin="anonymous"></script>`,
    },
    {
      id: 'browser',
      isFrame: false,
      label: 'Browser script (fetch)',
      note: 'Inserts the fragment without an iframe, also into a sentence. Readers without scripts see nothing.',
      code: `${htmlComment}${toBrowserCode(fragmentUrl)}`,
    },
  ]
}

function listCodeOfServers({ publicUrl, fragmentUrl, embedUrl, shortcode, caption }: SnippetOptions) {
  const comment = toComment(caption)
  const path = fragmentUrl.slice(publicUrl.length)
  const values = shortcode.attributes.map(({ name, value }) => ` ${name}="${escapeShortcode(value)}"`)
  return [
    {
      id: 'wordpress',
      isFrame: false,
      label: 'WordPress shortcode',
      note: 'Needs the plugin in integrations/wordpress. WordPress renders and caches the box on your server.',
      blockNote: 'The block editor has blocks with the same options.',
      code: `[${shortcode.name}${values.join('')}]`,
    },
    {
      id: 'oembed',
      isFrame: true,
      label: 'Plain URL (oEmbed)',
      note: 'Put it on a separate line. WordPress and other programs that support oEmbed turn it into an iframe without any plugin.',
      code: embedUrl,
    },
    {
      id: 'ssi',
      isFrame: false,
      label: 'nginx include (SSI)',
      note: 'nginx inserts the fragment into the page. docs/publish/embedding.md has the matching location block, and a recipe for Apache.',
      code: `<!--# include virtual="/vitrine${path}" -->`,
    },
    {
      id: 'esi',
      isFrame: false,
      label: 'Varnish include (ESI)',
      note: 'Varnish inserts the fragment into the page. docs/publish/embedding.md has the matching VCL.',
      code: `<esi:include src="/vitrine${escapeAttribute(path)}"/>`,
    },
    {
      id: 'php',
      isFrame: false,
      label: 'PHP',
      note: 'Needs the helper in integrations/php. It waits at most one second, and shows the last good box while this server does not respond.',
      code: `<?php // ${comment}\nrequire_once __DIR__ . '/vitrine.php';\necho vitrine_box(${quoteString(fragmentUrl)}); ?>`,
    },
    {
      id: 'fetch',
      isFrame: false,
      label: 'Code of your server (fetch)',
      note: 'For JavaScript that builds your pages: it sets your variable box. A 200 response with an empty body means that there is nothing to show; the header Vitrine-Reason gives the reason. For any other status, or no-store, keep the previous box.',
      code: `// ${comment}\n${toFetchCode(fragmentUrl)}`,
    },
  ]
}

function toPlaceholder({ attributes, title, reservedHeightPx }: SnippetOptions): string {
  const all = [
    ...attributes,
    { name: 'data-title', value: title },
    { name: 'data-height', value: String(reservedHeightPx) },
    // Before the script runs.
    { name: 'style', value: `min-height:${reservedHeightPx}px;margin-block-end:1.5em` },
  ]
  return `<div ${all.map(({ name, value }) => `${name}="${escapeAttribute(value)}"`).join(' ')}></div>`
}

/**
 * The span is valid in a sentence, and its content can also be a block. Each script fills only its own span, so that a page can
 * have many. Only `setHTMLUnsafe` creates declarative shadow DOM.
 */
function toBrowserCode(fragmentUrl: string): string {
  return [
    `<span data-fragment="${escapeAttribute(fragmentUrl)}"></span>`,
    '<script>',
    '  {',
    '    const place = document.currentScript.previousElementSibling',
    '    const show = (html) => place.setHTMLUnsafe ? place.setHTMLUnsafe(html) : (place.innerHTML = html)',
    '    fetch(place.dataset.fragment)',
    "      .then((response) => response.status === 200 ? response.text() : '')",
    '      .then(show, () => {}) // Without a response, nothing is shown.',
    '  }',
    '</script>',
  ].join('\n')
}

function toFetchCode(fragmentUrl: string): string {
  return [
    'try {',
    `  const response = await fetch(${quoteString(fragmentUrl)}, {`,
    '    signal: AbortSignal.timeout(1000),',
    '  })',
    "  const isGood = response.status === 200 && response.headers.get('cache-control') !== 'no-store'",
    '  if (isGood) box = await response.text()',
    '} catch {',
    '  // No response in time: keep the previous box.',
    '}',
  ].join('\n')
}

/** Remove what ends a comment in HTML, PHP or JavaScript: `-->`, `?>` and line breaks. */
function toComment(text: string): string {
  return text
    .replaceAll(/[<>]|-{2,}/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

/** Quote a string in a form that is valid in PHP and in JavaScript. */
function quoteString(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}

function escapeAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
}

/** A bracket would end the shortcode. WordPress decodes C escapes in values; the plugin decodes HTML references. */
function escapeShortcode(text: string): string {
  const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '[': '\\x5b', ']': '\\x5d' }
  return escapeAttribute(text.replace(/[\\[\]]/g, (character) => escapes[character] ?? character))
}
