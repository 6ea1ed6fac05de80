import { type Kysely, type RawBuilder, sql } from 'kysely'
import { isPostgres } from '../../database/is-postgres.ts'

/** What statements of requests say differently on SQLite and PostgreSQL. */
export type SqlDialect = Readonly<{
  /** The aggregate that makes a JSON array of rows, and the function that makes an object of names and values. */
  jsonGroupArray: RawBuilder<unknown>
  jsonObject: RawBuilder<unknown>
  /** A list of values as one parameter, so that the statement is the same however many there are. */
  toList(values: readonly string[] | readonly number[]): RawBuilder<unknown>
}>

const SQLITE: SqlDialect = {
  jsonGroupArray: sql`json_group_array`,
  jsonObject: sql`json_object`,
  toList: (values) => sql`(select value from json_each(${JSON.stringify(values)}))`,
}

const POSTGRES: SqlDialect = {
  jsonGroupArray: sql`json_agg`,
  jsonObject: sql`json_build_object`,
  toList: (values) => {
    const type = typeof values[0] === 'number' ? sql`bigint` : sql`text`
    return sql`(select unnest(${values}::${type}[]))`
  },
}

/** Return the dialect of a database. */
export function getSqlDialect<T>(database: Kysely<T>): SqlDialect {
  return isPostgres(database) ? POSTGRES : SQLITE
}

/** Read a value of JSON: PostgreSQL's client has parsed it, SQLite returns text. */
export function readJson(value: unknown): unknown {
  return typeof value === 'string' ? JSON.parse(value) : value
}
