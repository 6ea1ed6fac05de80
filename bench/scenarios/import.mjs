import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createCatalogData } from '../lib/catalog-data.mjs'
import { checkTarget } from '../lib/report.mjs'
import { computeFieldMedian, computeRatio, runRounds } from '../lib/rounds.mjs'
import { summarize } from '../lib/statistics.mjs'
import { MAIN, createDatabaseUrl } from '../lib/vitrine.mjs'

const LOOP = fileURLToPath(new URL('../peers/import-loop.mjs', import.meta.url))

/** Import a feed into the catalog service, then import it again unchanged. */
export const importing = {
  name: 'import',
  about: 'import of a feed with --products products, against a plain Node loop that writes a row for each',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const { products } = run.options
    const feed = join(run.folder, 'feed.ndjson')
    writeFeed(feed, products)
    const importOnce = async (settings) => {
      const beganMs = performance.now()
      const output = await run.runToEnd([MAIN, 'catalog', 'import', feed, '--json'], { env: settings })
      const perSecond = products / ((performance.now() - beganMs) / 1e3)
      const result = JSON.parse(output)
      if (result.products !== products) throw new Error(`unexpected result of the import: ${output}`)
      return { perSecond }
    }
    const measured = await runRounds(
      run,
      {
        loop: async () => {
          const file = createDatabaseUrl(run).replace('sqlite:', '')
          const { seconds } = JSON.parse(await run.runToEnd([LOOP, feed, file]))
          return { perSecond: products / seconds }
        },
        imports: async () => {
          const settings = { VITRINE_CATALOG_DATABASE_URL: createDatabaseUrl(run), VITRINE_LOG_LEVEL: 'warn' }
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
          title: `Imports of ${products.toLocaleString('en')} products, including the start of the program`,
          columns: ['', 'products/s'],
          rows: Object.entries(rounds).map(([name, list]) => [
            name,
            Math.round(computeFieldMedian(list, 'perSecond')),
          ]),
        },
      ],
      targets: [
        checkTarget('first import', first, { atLeast: 15_000, unit: ' products/s', digits: 0, products }),
        checkTarget('nothing changed, relative to the first import', again, { atLeast: 3, products }),
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
