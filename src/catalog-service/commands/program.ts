import type { Command } from 'commander'
import type { Runner } from '../../command.ts'
import { addApprovals } from './approvals.ts'
import { addChannels } from './channels.ts'
import { addFeeds } from './feeds.ts'
import { addImport } from './import.ts'
import { addKeys } from './keys.ts'
import { addMerchants } from './merchants.ts'
import { addNetworks } from './networks.ts'
import { addOrganizations } from './organizations.ts'
import { addServe } from './serve.ts'

export function addCatalogCommands(catalog: Command, run: Runner): void {
  addServe(catalog, run)
  addImport(catalog, run)
  addFeeds(catalog, run)
  addOrganizations(catalog, run)
  addKeys(catalog, run)
  addChannels(catalog, run)
  addNetworks(catalog, run)
  addMerchants(catalog, run)
  addApprovals(catalog, run)
  for (const group of catalog.commands) {
    if (group.commands.length === 0) continue
    group.addHelpText('after', `\n"${group.name()}" without a command is "${group.name()} list".`)
  }
}
