import { rm, writeFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { CHANNEL, type WordPressFixture, GTIN, createWordPressFixture, toPhp } from './wordpress-fixture.ts'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'
import { isSkipped } from './programs.ts'
import { SETTINGS_PAGE, readNonce, readConnectionResult, sendSettings } from './settings-form.ts'
import { type Visitor, readContent, signInAs } from './visitor.ts'

const OTHER_CHANNEL = CHANNEL.replace('1', '9')
const REJECTION = 'To change the server address, you need the capability unfiltered_html.'
const IN_CONFIG = 'The server address is set by VITRINE_SERVER in wp-config.php'

/** Return the HTML of the field for the server address. */
const readField = (html: string): string => /<input[^>]*id="vitrine_server"[^>]*>/.exec(html)?.[0] ?? ''

describe.skipIf(isSkipped)('permission to change the server', () => {
  let fixture: WordPressFixture
  let admin: Visitor
  let reader: Visitor
  /** A malicious server that sends scripts. */
  let attacker: FaultProxy

  beforeAll(async () => {
    fixture = await createWordPressFixture()
    attacker = await startFaultProxy(fixture.server.addresses.publicUrl)
    attacker.setMode({ body: '<script>alert(1)</script>' })
    admin = await signInAs(fixture.site, 'administrator')
    reader = await signInAs(fixture.site)
  })
  afterAll(async () => {
    await attacker.close()
    await fixture.close()
  })
  beforeEach(async () => {
    await fixture.site.run(
      `update_option( 'vitrine_settings', array( 'server' => ${toPhp(fixture.faultProxy.origin)}, 'channel' => '${CHANNEL}' ) ); return 1;`,
    )
    fixture.faultProxy.takeCalls()
    attacker.takeCalls()
  })
  afterEach(() => rm(fixture.site.toPath('config.php'), { force: true }))

  const configure = (line: string): Promise<void> =>
    writeFile(fixture.site.toPath('config.php'), `<?php\n${line}\n`)
  const configureServer = (address: string): Promise<void> =>
    configure(`define( 'VITRINE_SERVER', ${toPhp(address)} );`)
  const readSettings = (): Promise<unknown> => fixture.site.run(`return get_option( 'vitrine_settings' );`)

  it('an administrator with unfiltered_html - sends another server - it is saved', async () => {
    const html = await sendSettings(admin, { server: attacker.origin, channel: CHANNEL })
    expect(await readSettings()).toEqual({ server: attacker.origin, channel: CHANNEL })
    expect(readField(html)).not.toContain('disabled')
    expect(attacker.takeCalls()).toContain('/healthz')
  })

  describe('DISALLOW_UNFILTERED_HTML, as for site administrators on a multisite network', () => {
    beforeEach(() => configure(`define( 'DISALLOW_UNFILTERED_HTML', true );`))

    it.each([
      ['another server', () => attacker.origin],
      ['no server', () => ''],
      ['an invalid address', () => '"><script>alert(1)</script>'],
    ])('%s - sent - is rejected with a message, and the stored one stays', async (_name, toServer) => {
      const html = await sendSettings(admin, { server: toServer(), channel: CHANNEL })
      expect(html).toContain(REJECTION)
      expect(html).not.toContain('Settings saved.')
      expect(await readSettings()).toEqual({ server: fixture.faultProxy.origin, channel: CHANNEL })
      const page = await reader.get(await fixture.publish(`[vitrine gtin="${GTIN}"]`))
      expect(readContent(page)).toContain('class="vitrine vitrine-box"')
      expect(attacker.takeCalls()).toEqual([])
    })

    it('the form without the disabled field - saved - changes only the channel', async () => {
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
        'vitrine_settings[server]': attacker.origin,
        'vitrine_settings[channel]': OTHER_CHANNEL,
      })
      expect(await readSettings()).toEqual({ server: fixture.faultProxy.origin, channel: OTHER_CHANNEL })
    })

    it('the page - shows the disabled address and the reason, and sends no request', async () => {
      const { html } = await admin.get(SETTINGS_PAGE)
      expect(readField(html)).toContain(`value="${fixture.faultProxy.origin}"`)
      expect(readField(html)).toContain('disabled')
      expect(html).toContain(REJECTION)
      expect(html).not.toContain('vitrine-try')
      expect(fixture.faultProxy.takeCalls()).toEqual([])
    })

    it('a site without a server - an administrator - cannot set one', async () => {
      await fixture.site.run(`delete_option( 'vitrine_settings' ); return 1;`)
      expect(await sendSettings(admin, { server: attacker.origin, channel: CHANNEL })).toContain(REJECTION)
      expect(await readSettings()).toEqual({ server: '', channel: CHANNEL })
    })
  })

  describe('VITRINE_SERVER in wp-config.php', () => {
    it('a post with a box - uses this server instead of the stored one', async () => {
      await sendSettings(admin, { server: attacker.origin, channel: CHANNEL })
      for (const faultProxy of [fixture.faultProxy, attacker]) faultProxy.takeCalls()
      await configureServer(`${fixture.faultProxy.origin}/`)
      const page = await reader.get(await fixture.publish(`[vitrine gtin="${GTIN}" limit="2"]`))
      expect(readContent(page)).toContain('class="vitrine vitrine-box"')
      expect(fixture.faultProxy.takeCalls()).toEqual([`/fragments/${CHANNEL}/where-to-buy/${GTIN}?limit=2`])
      expect(attacker.takeCalls()).toEqual([])
    })

    it('the page - shows the disabled address and where it is set, and checks the server', async () => {
      await configureServer(fixture.faultProxy.origin)
      const { html } = await admin.get(SETTINGS_PAGE)
      expect(readField(html)).toContain(`value="${fixture.faultProxy.origin}"`)
      expect(readField(html)).toContain('disabled')
      expect(html).toContain(IN_CONFIG)
      expect(readConnectionResult(html)).toBe('The server responds and serves the default channel.')
    })

    it('another server - sent by an administrator with all capabilities - is rejected with a message', async () => {
      await configureServer(fixture.faultProxy.origin)
      const html = await sendSettings(admin, { server: attacker.origin, channel: OTHER_CHANNEL })
      expect(html).toContain(IN_CONFIG)
      expect(await readSettings()).toEqual({ server: fixture.faultProxy.origin, channel: OTHER_CHANNEL })
      expect(attacker.takeCalls()).toEqual([])
    })

    it('an invalid address - the page reports it, and posts send no request', async () => {
      await configureServer('widgets.example')
      expect(readConnectionResult((await admin.get(SETTINGS_PAGE)).html)).toContain('is not a valid address')
      const page = await reader.get(await fixture.publish(`[vitrine gtin="${GTIN}" limit="3"]`))
      expect(
        readContent(page)
          .replaceAll(/<[^>]*>/g, '')
          .trim(),
      ).toBe('')
      expect(fixture.faultProxy.takeCalls()).toEqual([])
    })

    it('together with DISALLOW_UNFILTERED_HTML - the page - sends no request', async () => {
      await configure(
        `define( 'DISALLOW_UNFILTERED_HTML', true ); define( 'VITRINE_SERVER', ${toPhp(attacker.origin)} );`,
      )
      const { html } = await admin.get(SETTINGS_PAGE)
      expect(html).toContain(IN_CONFIG)
      expect(html).not.toContain('vitrine-try')
      expect(attacker.takeCalls()).toEqual([])
    })
  })

  it('the form without a nonce - is rejected', async () => {
    expect(await readNonce(admin)).not.toBe('')
    const fields = { option_page: 'vitrine', action: 'update', 'vitrine_settings[server]': attacker.origin }
    expect((await admin.post('/wp-admin/options.php', fields)).status).toBe(403)
  })
})
