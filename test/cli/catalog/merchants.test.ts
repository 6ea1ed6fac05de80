import { describe, expect, it } from 'vitest'
import { importFeedFor, createCatalogCli, makeFeedRow, type CatalogCli } from '../catalog-cli.ts'

const ID = '952a0000-0000-4000-8000-0000000000a1'

/** A channel with offers of two shops in two networks, one of them without a second shop. */
async function makeFilled(): Promise<CatalogCli> {
  const owner = createCatalogCli()
  await owner.runJson('channels', 'add', 'A', '--id', ID)
  await importFeedFor(owner, ID, [
    makeFeedRow('17', ['Anna', 'Bo'], ['Net']),
    makeFeedRow('24', ['Anna'], ['Net', 'Other']),
    makeFeedRow('31', ['Anna'], ['Other']),
  ])
  return owner
}

describe('catalog merchants, list', () => {
  it('none - says what makes one', async () => {
    expect((await createCatalogCli().run('merchants')).err).toContain('merchants add NAME')
  })

  it('with offers or references - by name, without counting; counted when asked', async () => {
    const owner = await makeFilled()
    await owner.runJson('merchants', 'add', 'Cleo', '--network', 'Net', '--reference', '77')
    await owner.runJson('merchants', 'add', 'Dan')
    expect(await owner.runJson('merchants')).toEqual([
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
    expect((await owner.run('merchants', '--counts')).out.split('\n')).toEqual([
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

  it('network and limit - only those, and says that there are more', async () => {
    const owner = await makeFilled()
    expect(await owner.runJson('merchants', 'list', '--network', 'Other')).toEqual([
      { name: 'Anna', networks: [{ name: 'Other', reference: null, offers: null }] },
    ])
    const { out, err } = await owner.run('merchants', '--limit', '1')
    expect([out.split('\n')[0], err]).toEqual(['Anna', 'There are more than 1 merchants.\n'])
    expect((await owner.run('merchants', '--limit', '2')).err).toBe('')
    await owner.runJson('networks', 'add', 'Empty')
    expect((await owner.run('merchants', '--network', 'Empty')).err).toContain('No merchant has offers')
  })

  it.each(['0', '-1', 'x', '1.5'])('limit %j - refused', async (limit) => {
    const owner = createCatalogCli()
    await owner.runJson('networks', 'add', 'Net')
    expect(await owner.runRefused('merchants', `--limit=${limit}`)).toContain('--limit accepts')
  })

  it('unknown network - refused', async () => {
    const owner = createCatalogCli()
    await owner.runJson('networks', 'add', 'Net')
    expect(await owner.runRefused('merchants', '--network', 'x')).toContain('no network "x"')
  })
})

describe('catalog merchants, add and set', () => {
  it('taken name, network without reference and the other way round, bad values - refused', async () => {
    const owner = await makeFilled()
    expect(await owner.runRefused('merchants', 'add', 'Anna')).toContain('already')
    expect(await owner.runRefused('merchants', 'add', ' ')).toContain('a merchant needs a name')
    expect(await owner.runRefused('merchants', 'add', 'X', '--network', 'Net')).toContain(
      'use --network and --reference together',
    )
    expect(await owner.runRefused('merchants', 'add', 'X', '--reference', '1')).toContain(
      'use --network and --reference together',
    )
    expect(await owner.runRefused('merchants', 'add', 'X', '--network', 'No', '--reference', '1')).toContain(
      'there are "Net", "Other"',
    )
    expect(await owner.runRefused('merchants', 'add', 'X', '--network', 'Net', '--reference', '')).toContain(
      '--reference accepts',
    )
    expect(await owner.runJson('merchants')).toHaveLength(2)
  })

  it('reference - set, changed, taken away', async () => {
    const owner = await makeFilled()
    const set = (reference: string): Promise<{ out: string }> =>
      owner.run('merchants', 'set', 'Bo', '--network', 'Net', '--reference', reference)
    expect((await set('12')).out).toBe('the reference of "Bo" in "Net" is "12"')
    expect((await set(' 13 ')).out).toBe('the reference of "Bo" in "Net" is "13"')
    expect(await owner.runJson('merchants')).toMatchObject([{}, { networks: [{ reference: '13' }] }])
    expect((await set('none')).out).toBe('the reference of "Bo" in "Net" is "Bo"')
    expect(await owner.runJson('merchants')).toMatchObject([{}, { networks: [{ reference: null }] }])
  })

  it('unknown merchant - refused; one that differs in case is named', async () => {
    const owner = await makeFilled()
    const words = ['--network', 'Net', '--reference', '1']
    expect(await owner.runRefused('merchants', 'set', 'ANNA', ...words)).toContain('did you mean "Anna"?')
    expect(await owner.runRefused('merchants', 'set', 'Eve', ...words)).toContain('vitrine catalog merchants')
    expect(await owner.runRefused('merchants', 'set', 'Bo', '--network', 'x', '--reference', '1')).toContain(
      '"x"',
    )
    expect(await owner.runRefused('merchants', 'set', 'Bo')).toContain('--network')
  })
})

describe('catalog merchants, remove', () => {
  it('with offers - only with --yes; offers, approvals and products without another offer go', async () => {
    const owner = await makeFilled()
    expect(await owner.runRefused('merchants', 'remove', 'Anna')).toContain('add --yes')
    expect(await owner.runJson('merchants', 'remove', 'Anna', '--yes')).toEqual({
      name: 'Anna',
      removed: true,
      offers: 4,
      products: 2,
    })
    const { reader } = await owner.openStore()
    expect(await reader.selectFrom('products').select('gtin').execute()).toEqual([{ gtin: '00000000000017' }])
    expect(await owner.runJson('approvals')).toMatchObject([{ merchant: 'Bo' }])
    expect(await owner.runRefused('merchants', 'remove', 'Anna', '--yes')).toContain('no merchant "Anna"')
  })

  it('without offers - goes, with its references', async () => {
    const owner = await makeFilled()
    await owner.runJson('merchants', 'add', 'Cleo', '--network', 'Net', '--reference', '77')
    expect((await owner.run('merchants', 'remove', 'Cleo')).out).toBe(
      'removed "Cleo", with 0 offers and 0 products',
    )
    const { reader } = await owner.openStore()
    expect(await reader.selectFrom('network_merchants').selectAll().execute()).toEqual([])
  })
})
