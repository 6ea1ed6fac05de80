import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { ACCESS_NOUNS } from './access-nouns.ts'
import { OFFER_NOUNS } from './offer-nouns.ts'
import { UsageError } from '../../errors.ts'
import { type JsonFlag, type Noun, type Runner, addExamples, declareNoun, withJson } from '../declare.ts'
import { toPlain } from '../plain-text.ts'

type ImportFlags = Readonly<{ channel?: string; network?: string; merchant?: string; format?: string }>

const IMPORT_EXAMPLES = [
  'products.ndjson.gz',
  'shop.csv --network awin --merchant Kopje --channel 952a0000-0000-4000-8000-0000000000a1',
  'shop.csv --format google-csv --json',
] as const

/** Declares `vitrine catalog …`: the service, its feeds, and everything that its owner lists and changes. */
export function addCatalogCommands(catalog: Command, run: Runner): void {
  const serve = withJson(catalog.command('serve').description('runs the catalog service alone'))
  serve.action((flags: JsonFlag) =>
    run(flags.json, async (context) => (await import('./serve.ts')).runCatalogServe(context)),
  )
  addExamples(serve, 'VITRINE_HOST=0.0.0.0 VITRINE_PORT=8080 vitrine catalog serve', [''])
  addImport(catalog, run)
  for (const noun of [...ACCESS_NOUNS, ...OFFER_NOUNS]) declareNoun(catalog, withoutCatalog(noun), run)
}

function addImport(catalog: Command, run: Runner): void {
  const command = withJson(
    catalog.command('import').description('imports a feed into the catalog').argument('<file>'),
  )
  command
    .option('--channel <id>', 'the channel that the feed is for')
    .option('--network <name>', 'the network of every offer')
    .option('--merchant <name>', 'the merchant of every offer')
    .option(
      '--format <name>',
      'ndjson, google-xml, google-tsv, google-csv or awin-csv; default: as the file looks',
    )
    .action((file: string, flags: JsonFlag & ImportFlags) =>
      run(flags.json, async (context) =>
        (await import('./import.ts')).runCatalogImport(context, { ...flags, file }),
      ),
    )
  addExamples(command, 'vitrine catalog import', IMPORT_EXAMPLES)
}

/** Options of lists that name something of a catalog. */
const REFERENCES = ['organization', 'channel', 'network'] as const

/** A list makes no catalog: where the path is mistyped, an empty one would hide that. */
function withoutCatalog(noun: Noun): Noun {
  return {
    ...noun,
    async run(context, given) {
      const { catalogDatabase: database } = context.config
      // The database of a server is somebody's work already.
      if (given.action !== 'list' || database.kind !== 'sqlite' || existsSync(database.path))
        return noun.run(context, given)
      const { path } = database
      const made = noun.name === 'approvals' ? 'channels' : noun.name
      const nothing = `there is no catalog at ${path} yet; "vitrine catalog ${made} add NAME" makes one, and so does an import; VITRINE_CATALOG_DATABASE_URL names another`
      if (REFERENCES.some((option) => option in given)) throw new UsageError(nothing)
      if (context.json) context.io.out('[]')
      context.io.err(`vitrine: ${toPlain(nothing)}\n`)
      return 0
    },
  }
}
