import { rm, writeFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { CHANNEL, type WordPressFixture, GTIN, createWordPressFixture, toPhp } from './wordpress-fixture.ts'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'
import { isSkipped } from './programs.ts'
import { SETTINGS_PAGE, readNonce, readConnectionResult, sendSettings } from './settings-form.ts'
import { type Visitor, readContent, signInAs } from './visitor.ts'

const OTHER_CHANNEL = CHANNEL.replace('1', '9')
const REFUSAL = 'Only somebody who may post any HTML can change the server address'
const IN_CONFIG = 'The server address is set in wp-config.php, as VITRINE_SERVER'

/** The field of the server's address, as the page has it. */
const readField = (html: string): string => /<input[^>]*id="vitrine_server"[^>]*>/.exec(html)?.[0] ?? ''

describe.skipIf(isSkipped)('who may choose the server', () => {
  let fixture: WordPressFixture
  let admin: Visitor
  let reader: Visitor
  /** A server of somebody who would like to have scripts in the pages. */
  let evil: FaultProxy

  beforeAll(async () => {
    fixture = await createWordPressFixture()
    evil = await startFaultProxy(fixture.server.addresses.publicUrl)
    evil.setMode({ body: '<script>alert(1)</script>' })
    admin = await signInAs(fixture.site, 'administrator')
    reader = await signInAs(fixture.site)
  })
  afterAll(async () => {
    await evil.close()
    await fixture.close()
  })
  beforeEach(async () => {
    await fixture.site.run(
      `update_option( 'vitrine_settings', array( 'server' => ${toPhp(fixture.faultProxy.origin)}, 'channel' => '${CHANNEL}' ) ); return 1;`,
    )
    fixture.faultProxy.takeCalls()
    evil.takeCalls()
  })
  afterEach(() => rm(fixture.site.toPath('config.php'), { force: true }))

  const configure = (line: string): Promise<void> =>
    writeFile(fixture.site.toPath('config.php'), `<?php\n${line}\n`)
  const configureServer = (address: string): Promise<void> =>
    configure(`define( 'VITRINE_SERVER', ${toPhp(address)} );`)
  const readSettings = (): Promise<unknown> => fixture.site.run(`return get_option( 'vitrine_settings' );`)

  it('an administrator with unfiltered_html - sends another server - has changed it', async () => {
    const html = await sendSettings(admin, { server: evil.origin, channel: CHANNEL })
    expect(await readSettings()).toEqual({ server: evil.origin, channel: CHANNEL })
    expect(readField(html)).not.toContain('disabled')
    expect(evil.takeCalls()).toContain('/healthz')
  })

  describe('DISALLOW_UNFILTERED_HTML, as for the administrators of the sites of a network', () => {
    beforeEach(() => configure(`define( 'DISALLOW_UNFILTERED_HTML', true );`))

    it.each([
      ['another server', () => evil.origin],
      ['no server', () => ''],
      ['what is no address', () => '"><script>alert(1)</script>'],
    ])('%s - sent - is refused in words, and the one before stays', async (_name, toServer) => {
      const html = await sendSettings(admin, { server: toServer(), channel: CHANNEL })
      expect(html).toContain(REFUSAL)
      expect(html).not.toContain('Settings saved.')
      expect(await readSettings()).toEqual({ server: fixture.faultProxy.origin, channel: CHANNEL })
      const page = await reader.get(await fixture.publish(`[vitrine gtin="${GTIN}"]`))
      expect(readContent(page)).toContain('class="vitrine vitrine-box"')
      expect(evil.takeCalls()).toEqual([])
    })

    it('the form as a browser sends it, without the field - saved - changes the channel only', async () => {
      const html = await sendSettings(admin, { channel: OTHER_CHANNEL })
      expect(html).toContain('Settings saved.')
      expect(await readSettings()).toEqual({ server: fixture.faultProxy.origin, channel: OTHER_CHANNEL })
    })

    it('the page of all options - sent with another server - changes nothing', async () => {
      const all = await admin.get('/wp-admin/options.php')
      await admin.post('/wp-admin/options.php', {
        action: 'update',
        option_page: 'options',
        page_options: 'vitrine_settings',
        _wpnonce: /name="_wpnonce" value="(\w+)"/.exec(all.html)?.[1] ?? '',
        'vitrine_settings[server]': evil.origin,
        'vitrine_settings[channel]': OTHER_CHANNEL,
      })
      expect(await readSettings()).toEqual({ server: fixture.faultProxy.origin, channel: OTHER_CHANNEL })
    })

    it('the page - opened - shows the address, disabled, says why, and calls nobody', async () => {
      const { html } = await admin.get(SETTINGS_PAGE)
      expect(readField(html)).toContain(`value="${fixture.faultProxy.origin}"`)
      expect(readField(html)).toContain('disabled')
      expect(html).toContain(REFUSAL)
      expect(html).not.toContain('vitrine-try')
      expect(fixture.faultProxy.takeCalls()).toEqual([])
    })

    it('a site without a server - an administrator - cannot give it one', async () => {
      await fixture.site.run(`delete_option( 'vitrine_settings' ); return 1;`)
      expect(await sendSettings(admin, { server: evil.origin, channel: CHANNEL })).toContain(REFUSAL)
      expect(await readSettings()).toEqual({ server: '', channel: CHANNEL })
    })
  })

  describe('VITRINE_SERVER in wp-config.php', () => {
    it('a post with a box - asked for - has it from there, whatever is stored', async () => {
      await sendSettings(admin, { server: evil.origin, channel: CHANNEL })
      for (const faultProxy of [fixture.faultProxy, evil]) faultProxy.takeCalls()
      await configureServer(`${fixture.faultProxy.origin}/`)
      const page = await reader.get(await fixture.publish(`[vitrine gtin="${GTIN}" limit="2"]`))
      expect(readContent(page)).toContain('class="vitrine vitrine-box"')
      expect(fixture.faultProxy.takeCalls()).toEqual([`/fragments/${CHANNEL}/where-to-buy/${GTIN}?limit=2`])
      expect(evil.takeCalls()).toEqual([])
    })

    it('the page - opened - shows it disabled, says where it is set, and tries it', async () => {
      await configureServer(fixture.faultProxy.origin)
      const { html } = await admin.get(SETTINGS_PAGE)
      expect(readField(html)).toContain(`value="${fixture.faultProxy.origin}"`)
      expect(readField(html)).toContain('disabled')
      expect(html).toContain(IN_CONFIG)
      expect(readConnectionResult(html)).toBe('The server answers, and it serves the default channel.')
    })

    it('another server - sent by an administrator with every right - is refused in words', async () => {
      await configureServer(fixture.faultProxy.origin)
      const html = await sendSettings(admin, { server: evil.origin, channel: OTHER_CHANNEL })
      expect(html).toContain(IN_CONFIG)
      expect(await readSettings()).toEqual({ server: fixture.faultProxy.origin, channel: OTHER_CHANNEL })
      expect(evil.takeCalls()).toEqual([])
    })

    it('what is no address - the page says so - and posts call nobody', async () => {
      await configureServer('widgets.example')
      expect(readConnectionResult((await admin.get(SETTINGS_PAGE)).html)).toContain('is no usable address')
      const page = await reader.get(await fixture.publish(`[vitrine gtin="${GTIN}" limit="3"]`))
      expect(
        readContent(page)
          .replaceAll(/<[^>]*>/g, '')
          .trim(),
      ).toBe('')
      expect(fixture.faultProxy.takeCalls()).toEqual([])
    })

    it('together with DISALLOW_UNFILTERED_HTML - the page - calls nobody', async () => {
      await configure(
        `define( 'DISALLOW_UNFILTERED_HTML', true ); define( 'VITRINE_SERVER', ${toPhp(evil.origin)} );`,
      )
      const { html } = await admin.get(SETTINGS_PAGE)
      expect(html).toContain(IN_CONFIG)
      expect(html).not.toContain('vitrine-try')
      expect(evil.takeCalls()).toEqual([])
    })
  })

  it('the form without a nonce - is refused', async () => {
    expect(await readNonce(admin)).not.toBe('')
    const fields = { option_page: 'vitrine', action: 'update', 'vitrine_settings[server]': evil.origin }
    expect((await admin.post('/wp-admin/options.php', fields)).status).toBe(403)
  })
})
