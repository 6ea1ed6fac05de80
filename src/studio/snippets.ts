import type { SnippetView } from './view-models.ts'

/** What a snippet is made of: addresses of one widget, and the options that are not as by default. */
export type SnippetDetails = Readonly<{
  publicUrl: string
  fragmentUrl: string
  embedUrl: string
  /** Accessible title of a bare iframe. */
  title: string
  /** Height of an iframe without the loader, in pixels: such a frame can neither grow nor fold. */
  frameHeightPx: number
  /** Attributes of the loader's placeholder, in order. */
  attributes: readonly Readonly<{ name: string; value: string }>[]
}>

/** The ways to embed one widget, the easiest first. */
export function listSnippets(details: SnippetDetails): readonly SnippetView[] {
  const path = details.fragmentUrl.slice(details.publicUrl.length)
  return [
    {
      id: 'loader',
      label: 'Script (any page)',
      note: 'A frame that takes its own height and folds away when there is nothing to show. No cookies, no storage.',
      code: toLoaderCode(details),
    },
    {
      id: 'iframe',
      label: 'Plain iframe (no script)',
      note: 'For editors that strip scripts. Its height is fixed.',
      code: `<iframe src="${escapeAttribute(details.embedUrl)}" title="${escapeAttribute(details.title)}" width="100%" height="${details.frameHeightPx}" loading="lazy" style="border:0"></iframe>`,
    },
    {
      id: 'ssi',
      label: 'nginx include (SSI)',
      note: 'nginx fetches the fragment and puts it into the page; docs/embedding.md has the location to go with it.',
      code: `<!--# include virtual="/vitrine${path}" -->`,
    },
    {
      id: 'esi',
      label: 'Varnish include (ESI)',
      note: 'Varnish fetches the fragment; docs/embedding.md has the VCL to go with it.',
      code: `<esi:include src="/vitrine${escapeAttribute(path)}"/>`,
    },
    {
      id: 'php',
      label: 'PHP',
      note: 'One second at most, and nothing in the page when the server does not answer. Cache the result where you can.',
      code: toPhpCode(details.fragmentUrl),
    },
    {
      id: 'fetch',
      label: 'Your own code',
      note: '200 with zero bytes means: nothing to show; Vitrine-Reason says why. Anything but 200, or Cache-Control: no-store: keep what you had.',
      code: `curl --max-time 1 '${details.fragmentUrl.replaceAll("'", '%27')}'`,
    },
  ]
}

function toLoaderCode({ attributes, publicUrl }: SnippetDetails): string {
  const text = attributes.map(({ name, value }) => `${name}="${escapeAttribute(value)}"`).join(' ')
  return `<div ${text}></div>\n<script async src="${escapeAttribute(publicUrl)}/embed.js"></script>`
}

function toPhpCode(fragmentUrl: string): string {
  const url = fragmentUrl.replace(/[\\']/g, '\\$&')
  return [
    "<?php $context = stream_context_create(['http' => ['timeout' => 1, 'follow_location' => 0]]);",
    `echo (string) @file_get_contents('${url}', false, $context); ?>`,
  ].join('\n')
}

function escapeAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
}
