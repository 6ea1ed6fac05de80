import type { CatalogApprovalsOptions } from './approvals.ts'
import type { CatalogMerchantsOptions } from './merchants.ts'
import type { CatalogNetworksOptions } from './networks.ts'
import type { Noun } from '../declare.ts'

const CHANNEL_ID = '952a0000-0000-4000-8000-0000000000a1'

const CHANNEL = ['!--channel <id>', 'the channel'] as const
const ONE_NETWORK = ['--network <name>', 'only this network; else each that the channel has'] as const
const TEMPLATE = [
  '--template <template>',
  'how links are made, with {url}, {merchant} and {publisher}',
] as const

const NETWORKS: Noun = {
  name: 'networks',
  about: 'affiliate networks, their link templates, and which channel has which',
  run: async (context, given) =>
    (await import('./networks.ts')).runCatalogNetworks(context, given as CatalogNetworksOptions),
  verbs: [
    { words: 'list', about: 'lists the networks, with their network channels', examples: [''] },
    {
      words: 'add <name>',
      about: 'makes a network',
      options: [TEMPLATE],
      examples: [
        'add awin --template "https://www.awin1.com/cread.php?awinmid={merchant}&awinaffid={publisher}&ued={url}"',
      ],
    },
    {
      words: 'set <network>',
      about: 'changes template or name of a network',
      options: [
        ['--template <template>', 'how links are made, or none'],
        ['--name <name>', 'its new name; feeds that name the old one make it anew'],
      ],
      examples: ['set awin --template none'],
    },
    {
      words: 'remove <network>',
      about: 'removes a network, with its network channels, approvals and offers',
      options: [['--yes', 'also when it has offers or network channels']],
      examples: ['remove awin --yes'],
    },
    {
      words: 'assign <network>',
      about: 'gives a channel a network channel of its organization; one a network',
      options: [
        CHANNEL,
        ['--publisher <reference>', 'what the network calls the publisher; made when it is new'],
        ['--network-channel <number>', 'one that there is; with --publisher it gets that reference'],
      ],
      examples: [`assign awin --channel ${CHANNEL_ID} --publisher 67890`],
    },
    {
      words: 'unassign <network>',
      about: 'the channel shows nothing of the network any more; approvals stay',
      options: [CHANNEL],
      examples: [`unassign awin --channel ${CHANNEL_ID}`],
    },
  ],
}

const MERCHANTS: Noun = {
  name: 'merchants',
  about: 'shops, and what networks call them',
  run: async (context, given) =>
    (await import('./merchants.ts')).runCatalogMerchants(context, given as CatalogMerchantsOptions),
  verbs: [
    {
      words: 'list',
      about: 'lists the merchants, with the networks where they have offers',
      options: [
        ['--network <name>', 'only those of this network'],
        ['--limit <n>', 'at most as many'],
        ['--counts', 'counts the offers, which takes a while in a large catalog'],
      ],
      examples: ['', '--network awin --counts'],
    },
    {
      words: 'add <name>',
      about: 'makes a merchant, before its first feed does',
      options: [
        ['--network <name>', 'a network that calls it differently'],
        ['--reference <reference>', 'what that network calls it: {merchant} of the link template'],
      ],
      examples: ['add Kopje --network awin --reference 12345'],
    },
    {
      words: 'set <merchant>',
      about: 'says what a network calls a merchant',
      options: [
        ['!--network <name>', 'the network'],
        ['!--reference <reference>', 'what it calls the merchant, or none: its name'],
      ],
      examples: ['set Kopje --network awin --reference 12345'],
    },
    {
      words: 'remove <merchant>',
      about: 'removes a merchant, with its offers and approvals',
      options: [['--yes', 'also when it has offers']],
      examples: ['remove Kopje --yes'],
    },
    {
      words: 'approve <merchant>',
      about: 'the channel may show its offers; as "approvals add"',
      options: [CHANNEL, ONE_NETWORK],
      examples: [`approve Kopje --channel ${CHANNEL_ID}`],
    },
    {
      words: 'revoke <merchant>',
      about: 'the channel may not, whatever is imported; as "approvals remove"',
      options: [CHANNEL, ONE_NETWORK],
    },
  ],
}

const ALL = ['--all', 'every merchant that has offers in the network'] as const

const APPROVALS: Noun = {
  name: 'approvals',
  about: 'which merchants a channel may show, network by network',
  run: async (context, given) =>
    (await import('./approvals.ts')).runCatalogApprovals(context, given as CatalogApprovalsOptions),
  verbs: [
    {
      words: 'list',
      about: 'lists what was approved or revoked',
      options: [
        ['--channel <id>', 'only for this channel'],
        ['--network <name>', 'only in this network'],
      ],
      examples: [`--channel ${CHANNEL_ID}`],
    },
    {
      words: 'add [merchant]',
      alias: 'approve',
      about: 'the channel may show the offers of a merchant',
      options: [CHANNEL, ONE_NETWORK, ALL],
      examples: [`add Kopje --channel ${CHANNEL_ID} --network awin`, `add --all --channel ${CHANNEL_ID}`],
    },
    {
      words: 'remove [merchant]',
      alias: 'revoke',
      about: 'the channel may not, from the next request on, whatever is imported',
      options: [CHANNEL, ONE_NETWORK, ALL],
      examples: [`remove Kopje --channel ${CHANNEL_ID}`],
    },
  ],
}

/** What is sold, and who may show it. */
export const OFFER_NOUNS: readonly Noun[] = [NETWORKS, MERCHANTS, APPROVALS]
