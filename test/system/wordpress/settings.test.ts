import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHANNEL, type WordPressFixture, GTIN, createWordPressFixture } from './wordpress-fixture.ts'
import { isSkipped } from './programs.ts'
import { SETTINGS_PAGE as PAGE, readNonce, readConnectionResult, sendSettings } from './settings-form.ts'
import { type Visitor, readContent, readVisibleText, signInAs } from './visitor.ts'

const save = (visitor: Visitor, server: string, channel = CHANNEL): Promise<string> =>
  sendSettings(visitor, { server, channel })

describe.skipIf(isSkipped)('the settings', () => {
  let fixture: WordPressFixture
  let admin: Visitor
  let reader: Visitor

  beforeAll(async () => {
    // Below a path, as when WordPress and the server share a host.
    fixture = await createWordPressFixture({ prefix: '/widgets' })
    admin = await signInAs(fixture.site, 'administrator')
    reader = await signInAs(fixture.site)
  })
  afterAll(() => fixture.close())

  const readSettings = (): Promise<unknown> => fixture.site.run(`return get_option( 'vitrine_settings' );`)

  it('the form - saved by an administrator - is stored without the trailing slash, and boxes use it', async () => {
    const html = await save(admin, ` ${fixture.faultProxy.origin}/ `, CHANNEL.toUpperCase())
    expect(await readSettings()).toEqual({ server: fixture.faultProxy.origin, channel: CHANNEL })
    expect(readConnectionResult(html)).toBe('The server responds and serves the default channel.')
    expect(html).toContain('Settings saved.')
    fixture.faultProxy.takeCalls()
    const page = await reader.get(await fixture.publish(`[vitrine gtin="${GTIN}"]`))
    expect(readContent(page)).toContain('class="vitrine vitrine-box"')
    expect(fixture.faultProxy.takeCalls()).toEqual([`/widgets/fragments/${CHANNEL}/where-to-buy/${GTIN}`])
  })

  it.each([
    'https://user:secret@widgets.example',
    'ftp://widgets.example',
    'widgets.example',
    'https://widgets.example/?a=1',
    'https://widgets.example/#a',
    'javascript:alert(1)',
    'https://',
  ])('an invalid address - %s - is rejected with a message, and the stored one stays', async (address) => {
    const html = await save(admin, address)
    expect(html).toContain('The server address is not valid.')
    expect(await readSettings()).toEqual({ server: fixture.faultProxy.origin, channel: CHANNEL })
  })

  it('an invalid channel - is rejected with a message, and the stored one stays', async () => {
    expect(await save(admin, fixture.faultProxy.origin, 'my-channel')).toContain('The channel is not valid.')
    expect(await readSettings()).toEqual({ server: fixture.faultProxy.origin, channel: CHANNEL })
  })

  it('stored values - printed by the page - are escaped', async () => {
    await fixture.site.run(`global $wpdb; $wpdb->update( $wpdb->options, array( 'option_value' =>
      serialize( array( 'server' => '"><script>alert(1)</script>', 'channel' => '' ) ) ),
      array( 'option_name' => 'vitrine_settings' ) ); return 1;`)
    expect((await admin.get(PAGE)).html).not.toContain('<script>alert(1)')
    await save(admin, fixture.faultProxy.origin)
    expect(await readSettings()).toEqual({ server: fixture.faultProxy.origin, channel: CHANNEL })
  })

  it('the page - the server fails - shows the reason', async () => {
    const readResult = async (): Promise<string> => readConnectionResult((await admin.get(PAGE)).html)
    fixture.faultProxy.setMode('failing')
    expect(await readResult()).toContain('with status 500')
    fixture.faultProxy.setMode('redirect')
    expect(await readResult()).toContain('The address redirects to')
    fixture.faultProxy.setMode('text')
    expect(await readResult()).toContain('it is not a Vitrine server')
    fixture.faultProxy.setMode('pass')
    await fixture.faultProxy.down()
    expect(await readResult()).toContain('The server does not respond. Check that it is running')
    await fixture.faultProxy.up()
    await save(admin, fixture.faultProxy.origin, CHANNEL.replace('1', '9'))
    expect(await readResult()).toContain('has no channel with this id')
    await save(admin, fixture.faultProxy.origin, '')
    expect(await readResult()).toContain('No default channel is set')
    await save(admin, 'http://widgets.example')
    expect(await readResult()).toContain('WordPress does not allow requests to this address')
    await save(admin, '')
    expect(await readResult()).toContain('Not set yet')
  })

  it('a site without settings - a post with boxes and links - shows nothing and sends no request', async () => {
    await save(admin, '', '')
    fixture.faultProxy.takeCalls()
    const path = await fixture.publish(`before [vitrine gtin="${GTIN}"] [vitrine_deals] after`)
    expect(readVisibleText(await reader.get(path))).toBe('before after')
    expect(fixture.faultProxy.takeCalls()).toEqual([])
    await save(admin, fixture.faultProxy.origin)
  })

  it('the page and its form - for an author, an editor or a visitor - are rejected', async () => {
    for (const role of ['author', 'editor', 'subscriber']) {
      const visitor = await signInAs(fixture.site, role)
      const page = await visitor.get(PAGE)
      expect(page.status).toBe(403)
      expect(page.html).not.toContain('vitrine-try')
      const sent = await visitor.post('/wp-admin/options.php', {
        option_page: 'vitrine',
        action: 'update',
        _wpnonce: await readNonce(admin),
        'vitrine_settings[server]': 'https://evil.example',
      })
      expect(sent.status).toBe(403)
    }
    expect((await reader.get(PAGE)).status).toBe(302)
    expect(await readSettings()).toEqual({ server: fixture.faultProxy.origin, channel: CHANNEL })
  })

  it('the form - without its nonce - is rejected', async () => {
    const fields = {
      option_page: 'vitrine',
      action: 'update',
      'vitrine_settings[server]': 'https://evil.example',
    }
    expect((await admin.post('/wp-admin/options.php', fields)).status).toBe(403)
    expect(await readSettings()).toEqual({ server: fixture.faultProxy.origin, channel: CHANNEL })
  })

  it('uninstalling - after boxes, failures and locks - removes everything', async () => {
    const path = await fixture.publish(`[vitrine gtin="${GTIN}" limit="2"] [vitrine_deals]`)
    await reader.get(path)
    fixture.faultProxy.setMode('failing')
    await fixture.site.advanceClock(301)
    await reader.get(path)
    const count = `global $wpdb; return (int) $wpdb->get_var(
      "SELECT COUNT(*) FROM $wpdb->options WHERE option_name LIKE '%vitrine%'" ) +
      (int) $wpdb->get_var( "SELECT COUNT(*) FROM $wpdb->postmeta WHERE meta_key LIKE '%oembed%'" );`
    await fixture.site.run(`return vitrine_acquire_lock( 'vitrine_lock_left' );`)
    expect(await fixture.site.run(count)).toBeGreaterThan(6)
    await fixture.site.run(
      `deactivate_plugins( 'vitrine/vitrine.php' ); uninstall_plugin( 'vitrine/vitrine.php' ); return 1;`,
    )
    expect(await fixture.site.run(count)).toBe(0)
    expect(readVisibleText(await reader.get(path))).toBe(
      '[vitrine gtin=&#8221;09520001001024&#8243; limit=&#8221;2&#8243;] [vitrine_deals]',
    )
  })
})
