import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { FiltersEngine, Request } from '@ghostery/adblocker'
import { describe } from 'vitest'

/* oxlint-disable node/no-process-env -- about the machine, not settings: where the lists are, and whether they are required */
const NAMED_FOLDER = process.env['UBLOCK_ORIGIN_PATH']
const ARE_REQUIRED = process.env['REQUIRE_PROGRAMS'] === '1'
/* oxlint-enable node/no-process-env */

/** Folders of an extension with the lists as text: `UBLOCK_ORIGIN_PATH`, or Debian's packages for Firefox and Chromium. */
const LIST_FOLDERS = [
  NAMED_FOLDER ?? '',
  '/usr/share/mozilla/extensions/{ec8030f7-c20a-464f-9b0e-13a3a9e97384}/uBlock0@raymondhill.net',
  '/usr/share/webext/ublock-origin-firefox',
  '/usr/share/chromium/extensions/ublock-origin',
]
const LIST_FOLDER = LIST_FOLDERS.find(
  (folder) => folder !== '' && existsSync(join(folder, toListPath('easylist'))),
)

/** A request as an ad blocker sees it. */
export type SeenRequest = Readonly<{ url: string; type: RequestType; pageUrl: string }>

/** The resource type of a request. */
export type RequestType = 'main_frame' | 'sub_frame' | 'script' | 'stylesheet' | 'image' | 'xhr' | 'fetch'

/** A filter list with known matches, which prove that the test can find matches at all. */
export type ListDetails = Readonly<{
  title: string
  files: readonly string[]
  minRules: number
  /** Requests that the list blocks on any host. */
  blocked: readonly Readonly<{ path: string; type: RequestType; rule: string }>[]
  /** Markup that the list hides on all sites. */
  hidden: readonly string[]
}>

/** The lists of uBlock Origin; nearly every ad blocker uses the first two. */
export const LISTS: readonly ListDetails[] = [
  {
    title: 'EasyList',
    files: [toListPath('easylist')],
    minRules: 50_000,
    blocked: [
      { path: '/ads/banners/lamp.png', type: 'image', rule: '/ads/banners/*$image' },
      { path: '/adserver.html', type: 'main_frame', rule: '/adserver.$document' },
    ],
    hidden: [
      '<p class="sponsor-link">Advertising</p>',
      '<p id="ad_1">Advertising</p>',
      '<p data-ad-name>Advertising</p>',
    ],
  },
  {
    title: 'EasyPrivacy',
    files: [toListPath('easyprivacy')],
    minRules: 40_000,
    blocked: [{ path: '/analytics-event.js', type: 'script', rule: '/analytics-event.js' }],
    hidden: ['<p class="embed-responsive-trendmd">Recommended</p>'],
  },
  {
    title: "uBlock Origin's own lists",
    files: ['filters', 'privacy', 'badware', 'quick-fixes', 'unbreak'].map(
      (name) => `assets/ublock/${name}.min.txt`,
    ),
    minRules: 10_000,
    blocked: [{ path: '/pu-placer.js', type: 'script', rule: '/pu-placer.js' }],
    hidden: ['<p class="aff-item-list">Shops</p>'],
  },
]

/** A list that is loaded into an engine. */
export type LoadedList = ListDetails & Readonly<{ engine: FiltersEngine; ruleCount: number }>

/** Load a list as ad blockers do. */
export function loadList(details: ListDetails): LoadedList {
  const text = details.files.map((file) => readFileSync(join(LIST_FOLDER ?? '', file), 'utf8')).join('\n')
  const engine = FiltersEngine.parse(`${text}\n${toDocumentRules(text)}`, {
    debug: true,
    enableCompression: false,
    // Optimized rules are merged, so that their texts are lost.
    enableOptimizations: false,
  })
  const { networkFilters, cosmeticFilters } = engine.getFilters()
  return { ...details, engine, ruleCount: networkFilters.length + cosmeticFilters.length }
}

/** Convert popup rules, which the engine does not support, to document rules. */
function toDocumentRules(text: string): string {
  const rules = text.split('\n').filter((line) => /\$(?:.*,)?popup(?:,|$)/.test(line))
  return rules.map((line) => line.replace(/\bpopup(?=,|$)/, 'document')).join('\n')
}

/** Return every rule that matches a request: rules that block, redirect, modify or allow it. */
export function findRules(engine: FiltersEngine, { url, type, pageUrl }: SeenRequest): readonly string[] {
  const request = Request.fromRawDetails({ url, type, sourceUrl: pageUrl })
  return [...engine.matchAll(request)].map((rule) => rule.rawLine ?? rule.toString())
}

/** Version of the lists and date of the package, for the titles of tests. */
const LISTS_VERSION: string =
  LIST_FOLDER === undefined ? 'uBlock Origin is not installed' : readListsVersion(LIST_FOLDER)

function readListsVersion(folder: string): string {
  const { version } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as { version: string }
  return `uBlock Origin ${version} of ${statSync(join(folder, toListPath('easylist')))
    .mtime.toISOString()
    .slice(0, 10)}`
}

function toListPath(name: string): string {
  return `assets/thirdparties/easylist/${name}.txt`
}

/**
 * Define tests that need the lists. If these are not installed, the tests are skipped, or fail with `REQUIRE_PROGRAMS=1`.
 */
export function describeWithLists(name: string, tests: () => void): void {
  if (LIST_FOLDER === undefined && ARE_REQUIRED)
    throw new Error(
      'Install the Debian package webext-ublock-origin-firefox, or set UBLOCK_ORIGIN_PATH to the folder of uBlock Origin.',
    )
  // oxlint-disable-next-line vitest/valid-describe-callback -- the callback is the caller's
  describe.skipIf(LIST_FOLDER === undefined)(`${name}, lists of ${LISTS_VERSION}`, tests)
}
