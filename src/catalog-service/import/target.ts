import { randomUUID } from 'node:crypto'
import type { Kysely } from 'kysely'
import { z } from 'zod'
import { UsageError } from '../../errors.ts'
import { insertChannel } from '../store/channels.ts'
import { getOrMakeOrganizationId } from '../store/organizations.ts'
import { isSampleOnly, removeSampleData } from '../store/meta.ts'
import type { CatalogTables } from '../store/schema.ts'

/** For which channel a feed is imported. */
export type ImportTarget = Readonly<{
  organizationId: string
  channelId: string
  /** Was sample data removed to make room? */
  replacedSample: boolean
}>

/** `channelId` as it was typed; `undefined`: the catalog's only channel, or a new one where there is none. */
export type TargetOptions = Readonly<{ channelId: string | undefined; nowMs: number }>

/**
 * Finds the channel of an import. A catalog without any, or one that holds only sample data (which goes), gets a website
 * channel, under the given id if there is one; its organization stays, because the key of a running server stands for it.
 * @throws UsageError when the channel is unknown, or not named though there are several.
 */
export async function prepareTarget(
  database: Kysely<CatalogTables>,
  options: TargetOptions,
): Promise<ImportTarget> {
  const channelId = parseChannelId(options.channelId)
  const replacedSample = await isSampleOnly(database)
  if (replacedSample) await removeSampleData(database)
  const organizationId = await getOrMakeOrganizationId(database, options.nowMs)
  const channels = await database
    .selectFrom('channels')
    .select(['id', 'organization_id'])
    .orderBy('id')
    .execute()
  const known = channels.find((channel) => channel.id === channelId)
  if (known !== undefined)
    return { organizationId: known.organization_id, channelId: known.id, replacedSample }
  if (channels.length === 0) {
    const newId = channelId ?? randomUUID()
    const channel = { id: newId, name: 'My website', kind: 'website', url: null } as const
    await insertChannel(database, { ...channel, organizationId, createdAtMs: options.nowMs })
    return { organizationId, channelId: newId, replacedSample }
  }
  const [only] = channels
  if (channelId === undefined && only !== undefined && channels.length === 1) {
    return { organizationId: only.organization_id, channelId: only.id, replacedSample }
  }
  const ids = channels.map((channel) => channel.id).join(', ')
  if (channelId !== undefined)
    throw new UsageError(`--channel: there is no such channel; the catalog has ${ids}`)
  throw new UsageError(`name the channel with --channel; the catalog has ${ids}`)
}

function parseChannelId(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const id = z.uuid().safeParse(text)
  if (!id.success) throw new UsageError('--channel accepts the id of a channel, a uuid')
  return id.data.toLowerCase()
}
