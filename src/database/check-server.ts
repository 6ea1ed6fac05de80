import { randomUUID } from 'node:crypto'
import type { Client } from 'pg'
import type { PostgresAddress } from '../config/database-address.ts'
import { StoreError } from '../errors.ts'
import { toPostgresFailure } from './failures.ts'
import { closeClient, connectClient, failOnSilence } from './postgres.ts'

/** Encodings that store all texts. SQL_ASCII stores bytes unchanged. */
const USABLE_ENCODINGS: ReadonlySet<string> = new Set(['UTF8', 'SQL_ASCII'])

/** The check may take as long as a write. */
const TIMEOUT_FACTOR = 2

/** While other clients use the pooler, a single comparison can meet two server connections by chance. */
const COMPARISONS = 3

/** A setting that nothing reads. Each session has its own value, so it shows whether two clients share a session. */
const MARK = 'vitrine.session'

/**
 * Connect to the server, before other connections change settings there. @throws StoreError when its database cannot store all
 * texts, or when a pooler shares its sessions between clients: statements would then run with the settings of others.
 */
export async function checkServer(address: PostgresAddress): Promise<void> {
  const { label } = address
  const client = await connectClient(address)
  try {
    const row = await read(
      client,
      `select current_setting('server_encoding') as encoding, pg_backend_pid() as pid`,
      address,
    )
    const encoding = String(row['encoding'])
    if (!USABLE_ENCODINGS.has(encoding))
      throw new StoreError(
        `The database ${label} has the encoding ${encoding}, which cannot store all texts`,
        {
          remedy: `Create another one: create database NAME encoding 'UTF8' locale 'C' template template0.`,
        },
      )
    // Without a pooler, the process id that the server announced is that of the session.
    if (row['pid'] === getProcessId(client) || !(await isShared(client, address))) return
    throw new StoreError(`A connection pooler in transaction or statement mode is in front of ${label}`, {
      remedy: 'Use the address of PostgreSQL itself, or a pooler in session mode.',
    })
  } finally {
    await closeClient(client)
  }
}

/** The driver keeps it for cancel requests; its types lack it. */
function getProcessId(client: Client): unknown {
  return 'processID' in client ? client.processID : undefined
}

/** `true` when one of two clients sees the session of the other, or loses its own. Return `false` when this cannot be tested. */
async function isShared(first: Client, address: PostgresAddress): Promise<boolean> {
  const mark = randomUUID()
  const readMark = async (client: Client): Promise<unknown> =>
    (await read(client, `select current_setting('${MARK}', true) as mark`, address))['mark']
  let second: Client | undefined
  try {
    await read(first, `set ${MARK} = '${mark}'`, address)
    // There may be no free connection for a second client.
    second = await connectClient(address)
    for (let count = 0; count < COMPARISONS; count += 1)
      if ((await readMark(first)) !== mark || (await readMark(second)) === mark) return true
    return false
  } catch {
    return false
  } finally {
    if (second !== undefined) await closeClient(second)
  }
}

/** Return the first row of a statement. */
async function read(
  client: Client,
  statement: string,
  { label, statementTimeoutMs }: PostgresAddress,
): Promise<Readonly<Record<string, unknown>>> {
  try {
    const { rows } = await failOnSilence(
      client.query<Record<string, unknown>>(statement),
      statementTimeoutMs * TIMEOUT_FACTOR,
    )
    return rows[0] ?? {}
  } catch (error) {
    throw toPostgresFailure(error, label)
  }
}
