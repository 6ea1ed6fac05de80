import { describe, expect, it } from 'vitest'
import { importFeedFor, createCatalogCli, makeFeedRow } from '../../cli/catalog-cli.ts'
import { getReader } from '../store-handles.ts'

const ID = '952a0000-0000-4000-8000-0000000000a1'
const AWIN = 'https://www.awin1.com/cread.php?awinmid={merchant}&awinaffid={publisher}&ued={url}'

describe('catalog networks add and list', () => {
  it('no networks - prints how to create one', async () => {
    const cli = createCatalogCli()
    expect((await cli.run('networks')).err).toContain('networks add NAME')
    expect(await cli.runJson('networks', 'list')).toEqual([])
  })

  it('with and without a template - stored as typed', async () => {
    const cli = createCatalogCli()
    expect(await cli.runJson('networks', 'add', ' awin ', '--template', AWIN)).toEqual({
      name: 'awin',
      linkTemplate: AWIN,
      removedSample: false,
    })
    expect((await cli.run('networks', 'add', 'plain')).out).toBe('created the network "plain"')
    expect((await cli.run('networks')).out).toBe(
      `awin\n    ${AWIN}\nplain\n    (no link template: links to pages of shops earn no commission)`,
    )
    expect(await cli.runJson('networks')).toEqual([
      { name: 'awin', linkTemplate: AWIN, networkChannels: [] },
      { name: 'plain', linkTemplate: null, networkChannels: [] },
    ])
  })

  it.each([
    ['https://a.example/?m={merchant}', '{url}'],
    ['a.example/?u={url}', 'https://'],
    ['{url}', 'https://'],
    ['https://{url}', 'https://'],
    ['javascript:alert({url})', 'https://'],
    ['https://user:pass@a.example/?u={url}', 'without a user name or password'],
    ['https://a.example/ ?u={url}', 'without spaces'],
    ['https://a.example/<x>?u={url}', 'without quotes, angle brackets'],
    ['https://a..example:99999/?u={url}', 'a valid host'],
    [`https://a.example/${'x'.repeat(4_096)}?u={url}`, 'of at most 4096 characters'],
    ['', '{url}'],
  ])('template %j - is rejected', async (template, expected) => {
    expect(await createCatalogCli().runRejected('networks', 'add', 'a', '--template', template)).toContain(
      expected,
    )
  })

  it('template with spaces around it - is stored without them', async () => {
    const cli = createCatalogCli()
    await cli.runJson('networks', 'add', 'a', '--template', ` ${AWIN}\n`)
    expect(await cli.runJson('networks')).toMatchObject([{ linkTemplate: AWIN }])
  })

  it('unknown placeholders - are kept, with a note', async () => {
    const cli = createCatalogCli()
    const template = 'https://a.example/{x}?u={url}&c={clickref}&c={clickref}'
    const { code, err } = await cli.run('networks', 'add', 'a', '--template', template)
    expect([code, err]).toEqual([0, expect.stringContaining('{x}, {clickref} is not replaced in links')])
    expect(await cli.runJson('networks')).toMatchObject([{ linkTemplate: template }])
  })

  it('{sub} - is accepted, with a note that the widget server needs a rule', async () => {
    const cli = createCatalogCli()
    const template = 'https://a.example/?ref={sub}&u={url}'
    const { code, err } = await cli.run('networks', 'add', 'a', '--template', template)
    expect([code, err]).toEqual([
      0,
      expect.stringContaining('if the file of VITRINE_SUB_IDS_FILE has a rule for this network'),
    ])
    expect(err).not.toContain('is not replaced')
    expect(await cli.runJson('networks')).toMatchObject([{ linkTemplate: template }])
  })

  it('existing name or no name - is rejected', async () => {
    const cli = createCatalogCli()
    await cli.runJson('networks', 'add', 'a')
    expect(await cli.runRejected('networks', 'add', 'a')).toContain('already')
    expect(await cli.runRejected('networks', 'add', '')).toContain('a network needs a name')
  })

  it('name of a feed with terminal codes - is printed without them', async () => {
    const cli = createCatalogCli()
    await cli.runJson('channels', 'add', 'A', '--id', ID)
    await importFeedFor(cli, ID, [makeFeedRow('17', ['Shop'], ['Net\u001b[2J'])])
    expect((await cli.run('networks')).out).toMatch(/^Net\ufffd\[2J\n/)
    expect(await cli.runRejected('networks', 'set', 'x', '--name', 'y')).not.toContain('\u001b')
  })
})

describe('catalog networks set', () => {
  it('template and name - changes only the given options; none clears the template', async () => {
    const cli = createCatalogCli()
    await cli.runJson('networks', 'add', 'a', '--template', AWIN)
    expect(await cli.runJson('networks', 'set', 'a', '--name', 'b')).toEqual({
      name: 'b',
      linkTemplate: AWIN,
    })
    expect((await cli.run('networks', 'set', 'b', '--template', 'none')).out).toBe('b  (no link template)')
    expect((await cli.run('networks', 'set', 'b', '--template', AWIN)).out).toBe(`b  ${AWIN}`)
  })

  it('no option, unknown network, existing name, bad template - are rejected', async () => {
    const cli = createCatalogCli()
    expect(await cli.runRejected('networks', 'set', 'a', '--name', 'b')).toContain('networks add NAME')
    await cli.runJson('networks', 'add', 'a')
    await cli.runJson('networks', 'add', 'b')
    expect(await cli.runRejected('networks', 'set', 'a')).toContain('nothing to set')
    expect(await cli.runRejected('networks', 'set', 'c', '--name', 'd')).toContain('there are "a", "b"')
    expect(await cli.runRejected('networks', 'set', 'a', '--name', 'b')).toContain('already')
    expect(await cli.runRejected('networks', 'set', 'a', '--template', 'x')).toContain('{url}')
  })

  it('template with {publisher} - lists network channels that an import created without a reference', async () => {
    const cli = createCatalogCli()
    await cli.runJson('channels', 'add', 'A', '--id', ID)
    await importFeedFor(cli, ID, [makeFeedRow('17', ['Shop'], ['Net'])])
    expect((await cli.run('networks')).out).toContain('(no publisher reference)')
    const { err } = await cli.run('networks', 'set', 'Net', '--template', AWIN)
    expect(err).toContain(`networks assign "Net" --channel ${ID} --publisher REF`)
    await cli.runJson('networks', 'unassign', 'Net', '--channel', ID)
    const again = await cli.run('networks', 'set', 'Net', '--template', AWIN)
    expect(again.err).toContain('--channel ID --network-channel 1 --publisher REF')
    const other = await cli.run('networks', 'set', 'Net', '--template', 'https://a.example/?u={url}')
    expect(other.err).toBe('')
  })
})

describe('catalog networks remove', () => {
  it('network without offers - is removed', async () => {
    const cli = createCatalogCli()
    await cli.runJson('networks', 'add', 'a')
    expect((await cli.run('networks', 'remove', 'a')).out).toContain('removed "a", with 0 network channels')
    expect(await cli.runRejected('networks', 'remove', 'a')).toContain('no network "a"')
  })

  it('network with a publisher reference, or several network channels - only with --yes', async () => {
    const cli = createCatalogCli()
    await cli.runJson('channels', 'add', 'A', '--id', ID)
    await cli.runJson('networks', 'add', 'a')
    await cli.runJson('networks', 'assign', 'a', '--channel', ID)
    expect((await cli.run('networks', 'remove', 'a')).code).toBe(0)
    await cli.runJson('networks', 'add', 'a')
    await cli.runJson('networks', 'assign', 'a', '--channel', ID, '--publisher', 'p1')
    expect(await cli.runRejected('networks', 'remove', 'a')).toContain(
      '"a" has 1 network channel and 0 approvals; add --yes',
    )
    expect(await cli.runJson('networks', 'remove', 'a', '--yes')).toMatchObject({ networkChannels: 1 })
  })

  it('name with quotes and dollar signs - is printed quoted for a shell', async () => {
    const cli = createCatalogCli()
    await cli.runJson('channels', 'add', 'A', '--id', ID)
    await cli.runJson('networks', 'add', `a"$b's`)
    const { err } = await cli.run('networks', 'assign', `a"$b's`, '--channel', ID)
    expect(err).toContain(String.raw`--network 'a"$b'\''s'`)
  })

  it('network with offers - only with --yes; products without another offer are removed, others stay', async () => {
    const cli = createCatalogCli()
    await cli.runJson('channels', 'add', 'A', '--id', ID)
    const rows = [
      makeFeedRow('17', ['S', 'T'], ['Net']),
      makeFeedRow('24', ['S'], ['Net', 'Other']),
      makeFeedRow('31', ['S'], ['Other']),
    ]
    await importFeedFor(cli, ID, rows)
    expect(await cli.runRejected('networks', 'remove', 'Net')).toContain(
      'has offers; add --yes to remove it with its offers, 1 network channel and 2 approvals',
    )
    expect(await cli.runJson('networks', 'remove', 'Net', '--yes')).toEqual({
      name: 'Net',
      removed: true,
      networkChannels: 1,
      approvals: 2,
      offers: 3,
      products: 1,
    })
    const reader = await getReader(await cli.openStore())
    expect(await reader.selectFrom('products').select('gtin').orderBy('gtin').execute()).toEqual([
      { gtin: '00000000000024' },
      { gtin: '00000000000031' },
    ])
    expect(await reader.selectFrom('offers').select('gtin').execute()).toHaveLength(2)
    expect(await cli.runJson('approvals')).toMatchObject([{ merchant: 'S', network: 'Other' }])
    expect(await cli.runJson('merchants')).toMatchObject([{ name: 'S' }, { name: 'T', networks: [] }])
  })
})
