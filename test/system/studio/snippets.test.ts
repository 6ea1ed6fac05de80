import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { OPTIONS, HOSTILE, findCode as find } from '../../studio/snippet-options.ts'
import { describeWithProgram } from '../includes/program.ts'
import { WORDPRESS_FOLDER, isSkipped } from '../wordpress/programs.ts'

const run = promisify(execFile)

/** Make a folder that is removed after the test. */
async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-snippet-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

async function writePage(code: string): Promise<string> {
  const folder = await makeFolder()
  await writeFile(join(folder, 'vitrine.php'), '<?php function vitrine_box($url) { return "[$url]"; }')
  await writeFile(join(folder, 'page.php'), `<p>${code}</p>`)
  return join(folder, 'page.php')
}

describeWithProgram('php', 'PHP', () => {
  test('snippet - is valid PHP and passes the unchanged address to the helper', async () => {
    const page = await writePage(find('php'))
    const { stdout } = await run('php', ['-l', page])
    expect(stdout).toContain('No syntax errors')
    expect((await run('php', [page])).stdout).toBe(`<p>[${OPTIONS.fragmentUrl}]</p>`)
  })

  test('address with quote and backslash - is passed unchanged', async () => {
    const fragmentUrl = String.raw`https://widgets.example/fragments/c/deals?q='.system("id").'\\`
    const page = await writePage(find('php', { fragmentUrl }))
    expect((await run('php', [page])).stdout).toBe(`<p>[${fragmentUrl}]</p>`)
  })
})

/** Parse shortcodes with WordPress and decode attributes like the plugin. */
const READ_SHORTCODES = `<?php
define('ABSPATH', '${WORDPRESS_FOLDER}/');
foreach (['plugin', 'shortcodes', 'formatting'] as $file) require ABSPATH . "wp-includes/$file.php";
add_shortcode('vitrine_deals', function ($attributes) {
  // WordPress filters the output of a shortcode, so encode it.
  return base64_encode(json_encode(array_map(fn($text) => wp_specialchars_decode($text, ENT_QUOTES), $attributes)));
});
echo do_shortcode(stream_get_contents(STDIN));`

describe.skipIf(isSkipped)('WordPress', () => {
  test.each([
    HOSTILE,
    'Kopje & Söhne',
    'A [B] C',
    String.raw`back\slash \n \x41`,
    '"quoted"',
    "it's",
    '5 < 6 > 4',
  ])('shortcode with %j - parses to the same value', async (value) => {
    const attributes = [
      { name: 'channel', value: 'c' },
      { name: 'q', value },
    ]
    const reader = join(await makeFolder(), 'read.php')
    await writeFile(reader, READ_SHORTCODES)
    const reading = run('php', [reader])
    reading.child.stdin?.end(
      `before ${find('wordpress', { shortcode: { name: 'vitrine_deals', attributes } })} after`,
    )
    const { stdout } = await reading
    const [, encoded = ''] = /^before (.*) after$/.exec(stdout) ?? []
    expect(JSON.parse(Buffer.from(encoded, 'base64').toString())).toEqual({ channel: 'c', q: value })
  })
})
