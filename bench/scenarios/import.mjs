import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createCatalogData } from '../lib/catalog-data.mjs'
import { judge } from '../lib/report.mjs'
import { computeFieldMedian, computeRatio, runRounds } from '../lib/rounds.mjs'
import { summarize } from '../lib/statistics.mjs'
import { MAIN, nameDatabase } from '../lib/vitrine.mjs'

const LOOP = fileURLToPath(new URL('../peers/import-loop.mjs', import.meta.url))

/** A feed into the catalog service: the first time, and again without a change. */
export const importing = {
  name: 'import',
  about: 'a feed of --products products beside a plain Node loop that writes a row for each',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const { products } = run.options
    const feed = join(run.folder, 'feed.ndjson')
    writeFeed(feed, products)
    const importOnce = async (settings) => {
      const beganMs = performance.now()
      const printed = await run.runToEnd([MAIN, 'catalog', 'import', feed, '--json'], { env: settings })
      const perSecond = products / ((performance.now() - beganMs) / 1e3)
      const result = JSON.parse(printed)
      if (result.products !== products) throw new Error(`the import brought ${printed}`)
      return { perSecond }
    }
    const measured = await runRounds(
      run,
      {
        loop: async () => {
          const file = nameDatabase(run).replace('sqlite:', '')
          const { seconds } = JSON.parse(await run.runToEnd([LOOP, feed, file]))
          return { perSecond: products / seconds }
        },
        imports: async () => {
          const settings = { VITRINE_CATALOG_DATABASE_URL: nameDatabase(run), VITRINE_LOG_LEVEL: 'warn' }
          return { first: await importOnce(settings), again: await importOnce(settings) }
        },
      },
      { warmUp: false },
    )
    const rounds = {
      'plain Node loop': measured.loop,
      'first import': measured.imports.map(({ first }) => first),
      'nothing changed': measured.imports.map(({ again }) => again),
    }
    const first = summarize(rounds['first import'].map(({ perSecond }) => perSecond))
    const again = computeRatio(rounds, { of: 'nothing changed', to: 'first import', field: 'perSecond' })
    return {
      tables: [
        {
          title: `Imports of ${products.toLocaleString('en')} products, the start of the program included`,
          columns: ['', 'products/s'],
          rows: Object.entries(rounds).map(([name, list]) => [
            name,
            Math.round(computeFieldMedian(list, 'perSecond')),
          ]),
        },
      ],
      targets: [
        judge('first import', first, { atLeast: 15_000, unit: ' products/s', digits: 0, products }),
        judge('nothing changed, of the first import', again, { atLeast: 3, products }),
      ],
      rounds,
    }
  },
}

function writeFeed(file, count) {
  const data = createCatalogData({ count })
  const descriptor = openSync(file, 'w')
  for (let index = 0; index < count; index += 1)
    writeSync(descriptor, Buffer.concat([data.toProduct(index), Buffer.from('\n')]))
  closeSync(descriptor)
}
