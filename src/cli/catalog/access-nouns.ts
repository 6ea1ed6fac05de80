import type { CatalogChannelsOptions } from './channels.ts'
import type { CatalogKeysOptions } from './keys.ts'
import type { CatalogOrganizationsOptions } from './organizations.ts'
import type { Noun } from '../declare.ts'

const OWNER = ['--organization <org>', 'whose: an id or a name; needed when there are several'] as const
const ONLY_OWNER = ['--organization <org>', 'only those of this one: an id or a name'] as const
const DAILY_LIMIT = ['--daily-limit <n>', 'requests a UTC day, or none'] as const
const KIND = [
  '--kind <kind>',
  'website, instagram, tiktok, youtube, facebook, pinterest, newsletter, app or other',
] as const
const URL_OR_NONE = ['--url <url>', 'its address, or none'] as const

const ORGANIZATIONS: Noun = {
  name: 'organizations',
  about: 'those whose keys, channels and daily limits these are',
  run: async (context, given) =>
    (await import('./organizations.ts')).runCatalogOrganizations(
      context,
      given as CatalogOrganizationsOptions,
    ),
  verbs: [
    { words: 'list', about: 'lists them, with the requests of today', examples: [''] },
    {
      words: 'add <name>',
      about: 'makes one and prints its id',
      options: [DAILY_LIMIT],
      examples: ['add "Second team" --daily-limit 5000'],
    },
    {
      words: 'set <organization>',
      about: 'changes name or daily limit of one, by its id or name',
      options: [['--name <name>', 'its new name'], DAILY_LIMIT],
      examples: ['set "Second team" --daily-limit none'],
    },
    {
      words: 'remove <organization>',
      about: 'removes one, with its keys, channels and network channels',
      options: [['--yes', 'also when it has channels']],
      examples: ['remove "Second team" --yes'],
    },
  ],
}

const KEYS: Noun = {
  name: 'keys',
  about: 'API keys of the catalog service',
  run: async (context, given) =>
    (await import('./keys.ts')).runCatalogKeys(context, given as CatalogKeysOptions),
  verbs: [
    { words: 'list', about: 'lists the keys, never the secret part', options: [ONLY_OWNER], examples: [''] },
    {
      words: 'add <name>',
      about: 'makes a key and prints it once',
      options: [OWNER],
      examples: ['add "Web server"', 'add "Web server" --organization "Second team"'],
    },
    {
      words: 'revoke <id>',
      about: 'ends a key at once, for good',
      examples: ['revoke 3f2b6c1e-8a4d-4c57-9b1f-2d0e7a6c5b43'],
    },
    { words: 'remove <id>', about: 'takes a revoked key off the list' },
  ],
}

const CHANNELS: Noun = {
  name: 'channels',
  about: 'where an organization publishes: sites, accounts, apps',
  run: async (context, given) =>
    (await import('./channels.ts')).runCatalogChannels(context, given as CatalogChannelsOptions),
  verbs: [
    {
      words: 'list',
      about: 'lists the channels, with their networks',
      options: [ONLY_OWNER],
      examples: [''],
    },
    {
      words: 'add <name>',
      about: 'makes a channel and prints its id',
      options: [KIND, URL_OR_NONE, OWNER, ['--id <uuid>', 'the id that it gets']],
      examples: [
        'add "Cameras weekly" --url https://cameras.example/',
        'add "Cameras on video" --kind youtube --organization "Second team"',
      ],
    },
    {
      words: 'set <channel>',
      about: 'changes a channel, by its id',
      options: [['--name <name>', 'its new name'], KIND, URL_OR_NONE],
      examples: ['set 952a0000-0000-4000-8000-0000000000a1 --url none'],
    },
    {
      words: 'remove <channel>',
      about: 'removes a channel; its network channels keep their approvals and serve none',
      examples: ['remove 952a0000-0000-4000-8000-0000000000a1'],
    },
  ],
}

/** Who may ask, and for which places. */
export const ACCESS_NOUNS: readonly Noun[] = [ORGANIZATIONS, KEYS, CHANNELS]
