import { describe, expect, it } from 'vitest'
import { importFeedFor, createCatalogCli, makeFeedRow, type CatalogCli } from '../../cli/catalog-cli.ts'
import { getReader } from '../store-handles.ts'

const ID = '952a0000-0000-4000-8000-0000000000a1'

/** A channel with offers of two shops in one network, and of one of them in another. */
async function makeFilled(): Promise<CatalogCli> {
  const cli = createCatalogCli()
  await cli.runJson('channels', 'add', 'A', '--id', ID)
  await importFeedFor(cli, ID, [
    makeFeedRow('17', ['Anna', 'Bo'], ['Net']),
    makeFeedRow('24', ['Anna'], ['Net', 'Other']),
    makeFeedRow('31', ['Anna'], ['Other']),
  ])
  return cli
}

describe('catalog merchants list', () => {
  it('no merchants - prints how to create one', async () => {
    expect((await createCatalogCli().run('merchants')).err).toContain('merchants add NAME')
  })

  it('merchants with offers or references - by name; with --counts, their numbers of offers', async () => {
    const cli = await makeFilled()
    await cli.runJson('merchants', 'add', 'Cleo', '--network', 'Net', '--reference', '77')
    await cli.runJson('merchants', 'add', 'Dan')
    expect(await cli.runJson('merchants')).toEqual([
      {
        name: 'Anna',
        networks: [
          { name: 'Net', reference: null, offers: null },
          { name: 'Other', reference: null, offers: null },
        ],
      },
      { name: 'Bo', networks: [{ name: 'Net', reference: null, offers: null }] },
      { name: 'Cleo', networks: [{ name: 'Net', reference: '77', offers: null }] },
      { name: 'Dan', networks: [] },
    ])
    expect((await cli.run('merchants', '--counts')).out.split('\n')).toEqual([
      'Anna',
      '    Net, 2 offers',
      '    Other, 2 offers',
      'Bo',
      '    Net, 1 offer',
      'Cleo',
      '    Net, reference 77, 0 offers',
      'Dan',
      '    in no network',
    ])
  })

  it('--network and --limit - only those, and a note that there are more', async () => {
    const cli = await makeFilled()
    expect(await cli.runJson('merchants', 'list', '--network', 'Other')).toEqual([
      { name: 'Anna', networks: [{ name: 'Other', reference: null, offers: null }] },
    ])
    const { out, err } = await cli.run('merchants', '--limit', '1')
    expect([out.split('\n')[0], err]).toEqual(['Anna', 'There are more than 1 merchants.\n'])
    expect((await cli.run('merchants', '--limit', '2')).err).toBe('')
    await cli.runJson('networks', 'add', 'Empty')
    expect((await cli.run('merchants', '--network', 'Empty')).err).toContain('No merchant has offers')
  })

  it.each(['0', '-1', 'x', '1.5'])('limit %j - is rejected', async (limit) => {
    const cli = createCatalogCli()
    await cli.runJson('networks', 'add', 'Net')
    expect(await cli.runRejected('merchants', `--limit=${limit}`)).toContain('--limit accepts')
  })

  it('unknown network - is rejected', async () => {
    const cli = createCatalogCli()
    await cli.runJson('networks', 'add', 'Net')
    expect(await cli.runRejected('merchants', '--network', 'x')).toContain('no network "x"')
  })
})

describe('catalog merchants add and set', () => {
  it('existing name, only one of network and reference, bad values - are rejected', async () => {
    const cli = await makeFilled()
    expect(await cli.runRejected('merchants', 'add', 'Anna')).toContain('already')
    expect(await cli.runRejected('merchants', 'add', ' ')).toContain('a merchant needs a name')
    expect(await cli.runRejected('merchants', 'add', 'X', '--network', 'Net')).toContain(
      'use --network and --reference together',
    )
    expect(await cli.runRejected('merchants', 'add', 'X', '--reference', '1')).toContain(
      'use --network and --reference together',
    )
    expect(await cli.runRejected('merchants', 'add', 'X', '--network', 'No', '--reference', '1')).toContain(
      'there are "Net", "Other"',
    )
    expect(await cli.runRejected('merchants', 'add', 'X', '--network', 'Net', '--reference', '')).toContain(
      '--reference accepts',
    )
    expect(await cli.runJson('merchants')).toHaveLength(2)
  })

  it('reference - can be set, changed and cleared', async () => {
    const cli = await makeFilled()
    const set = (reference: string): Promise<{ out: string }> =>
      cli.run('merchants', 'set', 'Bo', '--network', 'Net', '--reference', reference)
    expect((await set('12')).out).toBe('the reference of "Bo" in "Net" is "12"')
    expect((await set(' 13 ')).out).toBe('the reference of "Bo" in "Net" is "13"')
    expect(await cli.runJson('merchants')).toMatchObject([{}, { networks: [{ reference: '13' }] }])
    expect((await set('none')).out).toBe('the reference of "Bo" in "Net" is "Bo"')
    expect(await cli.runJson('merchants')).toMatchObject([{}, { networks: [{ reference: null }] }])
  })

  it('unknown merchant - is rejected; one that differs only in case is suggested', async () => {
    const cli = await makeFilled()
    const args = ['--network', 'Net', '--reference', '1']
    expect(await cli.runRejected('merchants', 'set', 'ANNA', ...args)).toContain('did you mean "Anna"?')
    await cli.run('merchants', 'add', 'ÄNNA')
    // Only A to Z have a case here, on both engines.
    expect(await cli.runRejected('merchants', 'set', 'Änna', ...args)).toContain('did you mean "ÄNNA"?')
    expect(await cli.runRejected('merchants', 'set', 'Eve', ...args)).toContain('vitrine catalog merchants')
    expect(await cli.runRejected('merchants', 'set', 'Bo', '--network', 'x', '--reference', '1')).toContain(
      '"x"',
    )
    expect(await cli.runRejected('merchants', 'set', 'Bo')).toContain('--network')
  })
})

describe('catalog merchants remove', () => {
  it('merchant with offers - only with --yes; its offers, approvals and products without other offers are removed', async () => {
    const cli = await makeFilled()
    expect(await cli.runRejected('merchants', 'remove', 'Anna')).toContain('add --yes')
    expect(await cli.runJson('merchants', 'remove', 'Anna', '--yes')).toEqual({
      name: 'Anna',
      removed: true,
      offers: 4,
      products: 2,
    })
    const reader = await getReader(await cli.openStore())
    expect(await reader.selectFrom('products').select('gtin').execute()).toEqual([{ gtin: '00000000000017' }])
    expect(await cli.runJson('approvals')).toMatchObject([{ merchant: 'Bo' }])
    expect(await cli.runRejected('merchants', 'remove', 'Anna', '--yes')).toContain('no merchant "Anna"')
  })

  it('merchant without offers - is removed with its references', async () => {
    const cli = await makeFilled()
    await cli.runJson('merchants', 'add', 'Cleo', '--network', 'Net', '--reference', '77')
    expect((await cli.run('merchants', 'remove', 'Cleo')).out).toBe(
      'removed "Cleo", with 0 offers and 0 products',
    )
    const reader = await getReader(await cli.openStore())
    expect(await reader.selectFrom('network_merchants').selectAll().execute()).toEqual([])
  })
})
