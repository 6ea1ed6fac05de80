import type { ChannelKind } from '../../catalog/contract.ts'

/** A fictional affiliate network. `query` are the parameters by which it names merchant and publisher. */
export type SampleNetwork = Readonly<{ name: string; query: string }>

/** Networks call the same things by different names, as real ones do. */
export const SAMPLE_NETWORKS = [
  { name: 'Tradeloom', query: 'tlm={merchant}&clickref={publisher}' },
  { name: 'Partnerfjord', query: 'pfid={publisher}&shopname={merchant}' },
  { name: 'Linkmeadow', query: 'subid={publisher}' },
  { name: 'Affiliora', query: 'a_aid={publisher}&a_bid={merchant}' },
] as const satisfies readonly SampleNetwork[]

/** Names of the networks. */
export type SampleNetworkName = (typeof SAMPLE_NETWORKS)[number]['name']

/** The link template of a network: it leads to the demonstration shop of the server at `base`. */
export function makeLinkTemplate(network: SampleNetwork, base: string): string {
  return `${base}/demo/shop?network=${network.name.toLowerCase()}&${network.query}&url={url}`
}

/** Currencies of the sample, and what a euro is in each, in hundredths. */
export const SAMPLE_RATES = { EUR: 100, USD: 109, GBP: 86 } as const
export type SampleCurrency = keyof typeof SAMPLE_RATES

/** A fictional shop. Its first network and first currency are its usual ones. */
export type SampleShop = Readonly<{
  name: string
  host: string
  networks: readonly [SampleNetworkName, SampleNetworkName]
  currencies: readonly [SampleCurrency, ...SampleCurrency[]]
  /** Its price level, in percent of the usual price. */
  levelPercent: number
}>

/** The shops, in the order in which the showcase lists them. */
export const SAMPLE_SHOPS: readonly SampleShop[] = [
  {
    name: 'Pfefferkorn & Lind',
    host: 'pfefferkorn-lind.example',
    networks: ['Partnerfjord', 'Tradeloom'],
    currencies: ['EUR'],
    levelPercent: 100,
  },
  {
    name: 'Maison Verlay',
    host: 'maison-verlay.example',
    networks: ['Affiliora', 'Linkmeadow'],
    currencies: ['EUR'],
    levelPercent: 104,
  },
  {
    name: 'Tindra Home',
    host: 'tindra-home.example',
    networks: ['Partnerfjord', 'Affiliora'],
    currencies: ['EUR', 'GBP'],
    levelPercent: 98,
  },
  {
    name: 'Kestrel Row',
    host: 'kestrel-row.example',
    networks: ['Tradeloom', 'Linkmeadow'],
    currencies: ['GBP', 'EUR'],
    levelPercent: 101,
  },
  {
    name: 'Brightmoor',
    host: 'brightmoor.example',
    networks: ['Tradeloom', 'Affiliora'],
    currencies: ['GBP', 'USD'],
    levelPercent: 97,
  },
  {
    name: 'Quillhaven',
    host: 'quillhaven.example',
    networks: ['Linkmeadow', 'Tradeloom'],
    currencies: ['USD', 'EUR'],
    levelPercent: 99,
  },
  {
    name: 'Oakmere Supply',
    host: 'oakmere-supply.example',
    networks: ['Linkmeadow', 'Partnerfjord'],
    currencies: ['USD'],
    levelPercent: 103,
  },
  {
    name: 'Velofjell',
    host: 'velofjell.example',
    networks: ['Partnerfjord', 'Linkmeadow'],
    currencies: ['EUR', 'USD'],
    levelPercent: 96,
  },
  {
    name: 'Hearthline',
    host: 'hearthline.example',
    networks: ['Affiliora', 'Partnerfjord'],
    currencies: ['EUR', 'GBP'],
    levelPercent: 102,
  },
  {
    name: 'Novabrück',
    host: 'novabrueck.example',
    networks: ['Affiliora', 'Tradeloom'],
    currencies: ['EUR', 'USD'],
    levelPercent: 95,
  },
]

/** A channel of the sample and what it is approved for. `networks` and `shops` are names; `'all'`: every one. */
export type SampleChannel = Readonly<{
  id: string
  name: string
  kind: ChannelKind
  url: string | null
  networks: readonly SampleNetworkName[] | 'all'
  shops: readonly string[] | 'all'
}>

/** The channels; the ids are readable, and of the form of version 4. */
export const SAMPLE_CHANNELS = [
  {
    id: '952a0000-0000-4000-8000-000000000001',
    name: 'The Slow Shelf Magazine',
    kind: 'website',
    url: 'https://slow-shelf.example',
    networks: 'all',
    shops: 'all',
  },
  {
    id: '952a0000-0000-4000-8000-000000000002',
    name: 'Gravel & Grounds Blog',
    kind: 'website',
    url: 'https://gravel-and-grounds.example/blog',
    networks: ['Partnerfjord', 'Tradeloom'],
    shops: ['Pfefferkorn & Lind', 'Tindra Home', 'Kestrel Row', 'Brightmoor', 'Velofjell', 'Novabrück'],
  },
  {
    id: '952a0000-0000-4000-8000-000000000003',
    name: 'Bench & Bean',
    kind: 'youtube',
    url: null,
    networks: ['Linkmeadow'],
    shops: ['Quillhaven', 'Oakmere Supply'],
  },
] as const satisfies readonly SampleChannel[]
