import { expect } from 'vitest'
import type { Visitor } from './visitor.ts'

export const SETTINGS_PAGE = '/wp-admin/options-general.php?page=vitrine'

/** Return the result of the connection check on the page. */
export const readConnectionResult = (html: string): string =>
  /id="vitrine-try">\s*<p>([^<]*)/.exec(html)?.[1] ?? ''

/** Return the nonce of the form. */
export async function readNonce(visitor: Visitor): Promise<string> {
  return /name="_wpnonce" value="(\w+)"/.exec((await visitor.get(SETTINGS_PAGE)).html)?.[1] ?? ''
}

/** Send any fields to the form; return the page that follows. */
export async function sendSettings(
  visitor: Visitor,
  fields: Readonly<{ server?: string; channel?: string }>,
): Promise<string> {
  const named = Object.entries(fields).map(([name, text]) => [`vitrine_settings[${name}]`, text])
  const { status } = await visitor.post('/wp-admin/options.php', {
    option_page: 'vitrine',
    action: 'update',
    _wpnonce: await readNonce(visitor),
    _wp_http_referer: SETTINGS_PAGE,
    ...(Object.fromEntries(named) as Record<string, string>),
  })
  expect(status).toBe(302)
  return (await visitor.get(`${SETTINGS_PAGE}&settings-updated=true`)).html
}
