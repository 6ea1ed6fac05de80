import type { RunNow } from './open-sqlite.ts'

/** A network as a channel sees it: through the one network channel that is assigned to it there. */
type ViewNetwork = Readonly<{
  name: string
  networkChannelId: number
  /** `null` also when it needs the publisher's reference, and there is none. */
  linkTemplate: string | null
  /** What the network knows the publisher as. */
  publisher: string
  /** The merchants that the network channel is approved for, by id. */
  merchants: ReadonlyMap<number, ViewMerchant>
}>

/** `reference` is what the network calls the merchant. */
type ViewMerchant = Readonly<{ name: string; reference: string }>

/** What a channel may show, and how its links are made: networks by id. */
export type ChannelView = ReadonlyMap<number, ViewNetwork>

/** A merchant that a network channel of the channel is approved for. */
export type ViewRow = Readonly<{
  network_id: number
  network: string
  network_channel_id: number
  link_template: string | null
  publisher: string
  merchant_id: number
  merchant: string
  reference: string | null
}>

/**
 * The rule of visibility (contract, sections 1 and 4.2): assigned to the channel, and approved for the merchant. Joined in
 * this order: the planner would begin with the approvals of everybody.
 */
const SELECT_VIEW = `
  select n.id as network_id, n.name as network, nc.id as network_channel_id, n.link_template, nc.reference as publisher,
    m.id as merchant_id, m.name as merchant, nm.reference
  from network_channels nc
  cross join networks n on n.id = nc.network_id
  cross join approvals a on a.network_channel_id = nc.id and a.revoked_at_ms is null
  cross join merchants m on m.id = a.merchant_id
  left join network_merchants nm on nm.network_id = nc.network_id and nm.merchant_id = a.merchant_id
  where nc.channel_id = ?`

/** Reads what a channel may show. */
export function fetchChannelView(read: RunNow, channelId: string): ChannelView {
  return toChannelView(read<ViewRow>(SELECT_VIEW, [channelId]))
}

/** Makes the view of all its rows. */
export function toChannelView(rows: readonly ViewRow[]): ChannelView {
  const view = new Map<number, ViewNetwork & { merchants: Map<number, ViewMerchant> }>()
  for (const row of rows) {
    const network = view.get(row.network_id) ?? { ...toNetwork(row), merchants: new Map() }
    network.merchants.set(row.merchant_id, { name: row.merchant, reference: row.reference ?? row.merchant })
    view.set(row.network_id, network)
  }
  return view
}

/** A link that names no publisher earns nothing, and networks may refuse it to readers. */
function isUsable({ link_template: template, publisher }: ViewRow): boolean {
  return publisher !== '' || !template?.includes('{publisher}')
}

function toNetwork(row: ViewRow): Omit<ViewNetwork, 'merchants'> {
  return {
    name: row.network,
    networkChannelId: row.network_channel_id,
    linkTemplate: isUsable(row) ? row.link_template : null,
    publisher: row.publisher,
  }
}
