import { describe, expect, it } from 'vitest'
import { importFeedFor, createCatalogCli, makeFeedRow } from '../catalog-cli.ts'

const ID = '952a0000-0000-4000-8000-0000000000a1'
const AWIN = 'https://www.awin1.com/cread.php?awinmid={merchant}&awinaffid={publisher}&ued={url}'

describe('catalog networks, add and list', () => {
  it('none - says what makes one', async () => {
    const owner = createCatalogCli()
    expect((await owner.run('networks')).err).toContain('networks add NAME')
    expect(await owner.runJson('networks', 'list')).toEqual([])
  })

  it('with and without a template - as typed', async () => {
    const owner = createCatalogCli()
    expect(await owner.runJson('networks', 'add', ' awin ', '--template', AWIN)).toEqual({
      name: 'awin',
      linkTemplate: AWIN,
      removedSample: false,
    })
    expect((await owner.run('networks', 'add', 'plain')).out).toBe('created the network "plain"')
    expect((await owner.run('networks')).out).toBe(
      `awin\n    ${AWIN}\nplain\n    (no link template: only offers with tracking links are shown)`,
    )
    expect(await owner.runJson('networks')).toEqual([
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
  ])('template %j - refused', async (template, said) => {
    expect(await createCatalogCli().runRefused('networks', 'add', 'a', '--template', template)).toContain(
      said,
    )
  })

  it('unknown braces - are kept, and pointed out', async () => {
    const owner = createCatalogCli()
    const template = 'https://a.example/{x}?u={url}&c={clickref}&c={clickref}'
    const { code, err } = await owner.run('networks', 'add', 'a', '--template', template)
    expect([code, err]).toEqual([0, expect.stringContaining('{x}, {clickref} is not replaced in links')])
    expect(await owner.runJson('networks')).toMatchObject([{ linkTemplate: template }])
  })

  it('name that is taken or no name - refused', async () => {
    const owner = createCatalogCli()
    await owner.runJson('networks', 'add', 'a')
    expect(await owner.runRefused('networks', 'add', 'a')).toContain('already')
    expect(await owner.runRefused('networks', 'add', '')).toContain('a network needs a name')
  })

  it('name of a feed that would move the cursor - does not', async () => {
    const owner = createCatalogCli()
    await owner.runJson('channels', 'add', 'A', '--id', ID)
    await importFeedFor(owner, ID, [makeFeedRow('17', ['Shop'], ['Net\u001b[2J'])])
    expect((await owner.run('networks')).out).toMatch(/^Net\ufffd\[2J\n/)
    expect(await owner.runRefused('networks', 'set', 'x', '--name', 'y')).not.toContain('\u001b')
  })
})

describe('catalog networks, set', () => {
  it('template and name - only what is named; none takes the template away', async () => {
    const owner = createCatalogCli()
    await owner.runJson('networks', 'add', 'a', '--template', AWIN)
    expect(await owner.runJson('networks', 'set', 'a', '--name', 'b')).toEqual({
      name: 'b',
      linkTemplate: AWIN,
    })
    expect((await owner.run('networks', 'set', 'b', '--template', 'none')).out).toBe('b  (no link template)')
    expect((await owner.run('networks', 'set', 'b', '--template', AWIN)).out).toBe(`b  ${AWIN}`)
  })

  it('nothing, unknown, taken, bad template - refused', async () => {
    const owner = createCatalogCli()
    expect(await owner.runRefused('networks', 'set', 'a', '--name', 'b')).toContain('networks add NAME')
    await owner.runJson('networks', 'add', 'a')
    await owner.runJson('networks', 'add', 'b')
    expect(await owner.runRefused('networks', 'set', 'a')).toContain('nothing to set')
    expect(await owner.runRefused('networks', 'set', 'c', '--name', 'd')).toContain('there are "a", "b"')
    expect(await owner.runRefused('networks', 'set', 'a', '--name', 'b')).toContain('already')
    expect(await owner.runRefused('networks', 'set', 'a', '--template', 'x')).toContain('{url}')
  })

  it('template with {publisher} - points out network channels that an import made without a reference', async () => {
    const owner = createCatalogCli()
    await owner.runJson('channels', 'add', 'A', '--id', ID)
    await importFeedFor(owner, ID, [makeFeedRow('17', ['Shop'], ['Net'])])
    expect((await owner.run('networks')).out).toContain('(no publisher reference)')
    const { err } = await owner.run('networks', 'set', 'Net', '--template', AWIN)
    expect(err).toContain(`networks assign "Net" --channel ${ID} --publisher REF`)
    await owner.runJson('networks', 'unassign', 'Net', '--channel', ID)
    const again = await owner.run('networks', 'set', 'Net', '--template', AWIN)
    expect(again.err).toContain('--channel ID --network-channel 1 --publisher REF')
    const other = await owner.run('networks', 'set', 'Net', '--template', 'https://a.example/?u={url}')
    expect(other.err).toBe('')
  })
})

describe('catalog networks, remove', () => {
  it('without offers - goes', async () => {
    const owner = createCatalogCli()
    await owner.runJson('networks', 'add', 'a')
    expect((await owner.run('networks', 'remove', 'a')).out).toContain('removed "a", with 0 network channels')
    expect(await owner.runRefused('networks', 'remove', 'a')).toContain('no network "a"')
  })

  it('with a publisher reference, or several network channels - only with --yes', async () => {
    const owner = createCatalogCli()
    await owner.runJson('channels', 'add', 'A', '--id', ID)
    await owner.runJson('networks', 'add', 'a')
    await owner.runJson('networks', 'assign', 'a', '--channel', ID)
    expect((await owner.run('networks', 'remove', 'a')).code).toBe(0)
    await owner.runJson('networks', 'add', 'a')
    await owner.runJson('networks', 'assign', 'a', '--channel', ID, '--publisher', 'p1')
    expect(await owner.runRefused('networks', 'remove', 'a')).toContain(
      '"a" has 1 network channel and 0 approvals; add --yes',
    )
    expect(await owner.runJson('networks', 'remove', 'a', '--yes')).toMatchObject({ networkChannels: 1 })
  })

  it('name with quotes and dollar signs - printed as a shell takes it', async () => {
    const owner = createCatalogCli()
    await owner.runJson('channels', 'add', 'A', '--id', ID)
    await owner.runJson('networks', 'add', `a"$b's`)
    const { err } = await owner.run('networks', 'assign', `a"$b's`, '--channel', ID)
    expect(err).toContain(String.raw`--network 'a"$b'\''s'`)
  })

  it('with offers - only with --yes; products without another offer go, others stay', async () => {
    const owner = createCatalogCli()
    await owner.runJson('channels', 'add', 'A', '--id', ID)
    const rows = [
      makeFeedRow('17', ['S', 'T'], ['Net']),
      makeFeedRow('24', ['S'], ['Net', 'Other']),
      makeFeedRow('31', ['S'], ['Other']),
    ]
    await importFeedFor(owner, ID, rows)
    expect(await owner.runRefused('networks', 'remove', 'Net')).toContain(
      'has offers; add --yes to remove it with its offers, 1 network channel and 2 approvals',
    )
    expect(await owner.runJson('networks', 'remove', 'Net', '--yes')).toEqual({
      name: 'Net',
      removed: true,
      networkChannels: 1,
      approvals: 2,
      offers: 3,
      products: 1,
    })
    const { reader } = await owner.openStore()
    expect(await reader.selectFrom('products').select('gtin').orderBy('gtin').execute()).toEqual([
      { gtin: '00000000000024' },
      { gtin: '00000000000031' },
    ])
    expect(await reader.selectFrom('offers').select('gtin').execute()).toHaveLength(2)
    expect(await owner.runJson('approvals')).toMatchObject([{ merchant: 'S', network: 'Other' }])
    expect(await owner.runJson('merchants')).toMatchObject([{ name: 'S' }, { name: 'T', networks: [] }])
  })
})
