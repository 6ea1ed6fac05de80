/** An attribute of the loader's placeholder. */
export type FrameAttribute = Readonly<{ name: string; value: string }>

/** What a snippet is made of: addresses of one widget, and the options that are not as by default. */
export type SnippetDetails = Readonly<{
  publicUrl: string
  fragmentUrl: string
  embedUrl: string
  /** Accessible title of a frame. */
  title: string
  /** Height of an iframe without the loader on a phone, in pixels: such a frame can neither grow nor fold. */
  frameHeightPx: number
  /** Height to reserve in an article's column, in pixels. */
  reservedHeightPx: number
  /** Attributes of the loader's placeholder, in order. */
  attributes: readonly FrameAttribute[]
  /** Attributes of the WordPress shortcode, in order, and its name. */
  shortcode: Readonly<{ name: string; attributes: readonly FrameAttribute[] }>
  /** The loader under its hashed name, with its digest. */
  pinnedScript: Readonly<{ url: string; integrity: string }>
}>

/** The ways to embed one widget, the easiest first. */
export function listSnippets(details: SnippetDetails) {
  const { publicUrl, fragmentUrl, embedUrl, title, shortcode, pinnedScript } = details
  const placeholder = toPlaceholder(details)
  const path = fragmentUrl.slice(publicUrl.length)
  const values = shortcode.attributes.map(({ name, value }) => ` ${name}="${escapeShortcode(value)}"`)
  return [
    {
      id: 'loader',
      label: 'Script (any page)',
      note: 'A frame that takes its own height and folds away when there is nothing to show. No cookies, no storage. One script serves every placeholder of a page.',
      code: `${placeholder}\n<script async src="${escapeAttribute(publicUrl)}/embed.js"></script>`,
    },
    {
      id: 'iframe',
      label: 'Plain iframe (no script)',
      note: 'For editors that strip scripts. Its height is fixed: the one here fits a phone.',
      code: `<iframe src="${escapeAttribute(embedUrl)}" title="${escapeAttribute(title)}" width="100%" height="${details.frameHeightPx}" loading="lazy" style="border:0"></iframe>`,
    },
    {
      id: 'pinned',
      label: 'Script, pinned by its digest',
      note: 'The same script under a name that never changes its bytes; the browser refuses any other. It is kept for ever, and gets no mends.',
      code: `${placeholder}\n<script async src="${escapeAttribute(pinnedScript.url)}" integrity="${pinnedScript.integrity}" crossorigin="anonymous"></script>`,
    },
    {
      id: 'wordpress',
      label: 'WordPress shortcode',
      note: 'With the plugin of integrations/wordpress: rendered on your server and kept there, so that an article never waits. The block editor has blocks with the same options.',
      code: `[${shortcode.name}${values.join('')}]`,
    },
    {
      id: 'oembed',
      label: 'Plain address (oEmbed)',
      note: 'On a line of its own: WordPress, and other programs that know oEmbed, make a frame of it without any plugin.',
      code: embedUrl,
    },
    {
      id: 'ssi',
      label: 'nginx include (SSI)',
      note: 'nginx fetches the fragment and puts it into the page; docs/publish/embedding.md has the location to go with it, and the like for Apache.',
      code: `<!--# include virtual="/vitrine${path}" -->`,
    },
    {
      id: 'esi',
      label: 'Varnish include (ESI)',
      note: 'Varnish fetches the fragment; docs/publish/embedding.md has the VCL to go with it.',
      code: `<esi:include src="/vitrine${escapeAttribute(path)}"/>`,
    },
    {
      id: 'php',
      label: 'PHP',
      note: 'With the helper of integrations/php: one second at most, and the last good box while this server does not answer.',
      code: `<?php require_once 'vitrine.php';\necho vitrine_box(${quoteString(fragmentUrl)}); ?>`,
    },
    {
      id: 'fetch',
      label: 'Your own code (fetch)',
      note: '200 with no text means: nothing to show; the header Vitrine-Reason says why. Anything but 200, or no-store: keep what you had.',
      code: toFetchCode(fragmentUrl),
    },
  ]
}

function toPlaceholder({ attributes, title, reservedHeightPx }: SnippetDetails): string {
  const all = [
    ...attributes,
    { name: 'data-title', value: title },
    { name: 'data-height', value: String(reservedHeightPx) },
  ]
  return `<div ${all.map(({ name, value }) => `${name}="${escapeAttribute(value)}"`).join(' ')}></div>`
}

function toFetchCode(fragmentUrl: string): string {
  return [
    'try {',
    `  const answer = await fetch(${quoteString(fragmentUrl)}, {`,
    '    signal: AbortSignal.timeout(1000),',
    '  })',
    "  const isGood = answer.status === 200 && answer.headers.get('cache-control') !== 'no-store'",
    '  if (isGood) box = await answer.text()',
    '} catch {',
    '  // No answer in time: the box stays as it was.',
    '}',
  ].join('\n')
}

/** A string of PHP and of JavaScript alike. */
function quoteString(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}

function escapeAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
}

/** A shortcode ends at a bracket; WordPress reads C escapes in its values, and the plugin the references of HTML. */
function escapeShortcode(text: string): string {
  const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '[': '\\x5b', ']': '\\x5d' }
  return escapeAttribute(text.replace(/[\\[\]]/g, (character) => escapes[character] ?? character))
}
