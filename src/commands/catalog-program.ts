import type { Command } from 'commander'
import { ACCESS_NOUNS } from './catalog-access-nouns.ts'
import { OFFER_NOUNS } from './catalog-offer-nouns.ts'
import { type JsonFlag, type Runner, declareNoun, withJson } from './declare.ts'

type ImportFlags = Readonly<{ channel?: string; network?: string; merchant?: string; format?: string }>

/** Declares `vitrine catalog …`: the service, its feeds, and everything that its owner lists and changes. */
export function addCatalogCommands(catalog: Command, run: Runner): void {
  withJson(catalog.command('serve').description('runs the catalog service alone')).action((flags: JsonFlag) =>
    run(flags.json, async (context) => (await import('./catalog-serve.ts')).runCatalogServe(context)),
  )
  withJson(catalog.command('import').description('imports a feed into the catalog').argument('<file>'))
    .option('--channel <id>', 'the channel that the feed is for')
    .option('--network <name>', 'the network of every offer')
    .option('--merchant <name>', 'the merchant of every offer')
    .option(
      '--format <name>',
      'ndjson, google-xml, google-tsv, google-csv or awin-csv; default: as the file looks',
    )
    .action((file: string, flags: JsonFlag & ImportFlags) =>
      run(flags.json, async (context) =>
        (await import('./catalog-import.ts')).runCatalogImport(context, { ...flags, file }),
      ),
    )
  for (const noun of [...ACCESS_NOUNS, ...OFFER_NOUNS]) declareNoun(catalog, noun, run)
}
