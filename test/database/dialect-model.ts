import * as fc from 'fast-check'
import { type Kysely, sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import {
  createRowSource,
  createTextSource,
  execute,
  getJsonFunctions,
  inList,
  insertRows,
  insertRowsForIds,
  insertRowForId,
  isEqual,
  updateRow,
} from '../../src/database/dialect.ts'

/** None, one, the most parameters of an old SQLite, and more than any engine accepts. */
const COUNTS = [0, 1, 999, 40_000]

type Item = Readonly<{ name: string; amount: number | null; note: string }>

const makeItems = (count: number): readonly Item[] =>
  Array.from({ length: count }, (_, index) => ({
    name: `name ${index}`,
    amount: index % 2 === 0 ? index : null,
    note: `it's "${index}" \\ {x}, ?`,
  }))

async function readItems(database: Kysely<unknown>): Promise<readonly Item[]> {
  const { rows } = await sql<Item>`select name, amount, note from items order by id`.execute(database)
  return rows.map((row) => ({ ...row }))
}

/** Any text that both engines store: PostgreSQL has no U+0000. */
const storableText = fc
  .string({ unit: 'grapheme', maxLength: 12 })
  .map((text) => text.replaceAll('\u0000', '').toWellFormed())

const anyItems = fc.uniqueArray(
  fc.record({
    name: storableText,
    amount: fc.option(fc.maxSafeInteger(), { nil: null }),
    note: storableText,
  }),
  { selector: ({ name }) => name, maxLength: 20 },
)

/** Statements that differ by engine, with the same results on each. `id`: type of a generated id. */
export function describeDialect(
  name: string,
  { open, id }: Readonly<{ open(): Kysely<unknown>; id: string }>,
): void {
  const openEmpty = async (): Promise<Kysely<unknown>> => {
    const database = open()
    await sql`drop table if exists items`.execute(database)
    await sql`create table items (id ${sql.raw(id)}, name text unique not null, amount bigint,
      note text not null)`.execute(database)
    return database
  }

  describe(`dialect of ${name}`, () => {
    test.each(COUNTS)('%i rows inserted - are stored, and have the ids in their order', async (count) => {
      const database = await openEmpty()
      const items = makeItems(count)
      const ids = await database
        .transaction()
        .execute((transaction) => insertRowsForIds(transaction, { table: 'items', key: 'name' }, items))
      const { rows } = await sql<{ id: number; name: string }>`select id, name from items`.execute(database)
      const names = new Map(rows.map((row) => [row.id, row.name]))
      expect(ids.map((id) => names.get(id)).join()).toBe(items.map((item) => item.name).join())
      expect(rows).toHaveLength(count)
    })

    test.each(COUNTS)('list of %i values - finds exactly the rows with one of them', async (count) => {
      const database = await openEmpty()
      await insertRows(database, 'items', [
        { name: 'name 0', amount: 0, note: '' },
        { name: 'another', amount: -1, note: '' },
      ])
      const names = Array.from({ length: count }, (_, index) => `name ${index}`)
      const amounts = Array.from({ length: count }, (_, index) => index)
      const find = async (condition: ReturnType<typeof inList>): Promise<readonly string[]> => {
        const { rows } = await sql<Item>`select name from items where ${condition}`.execute(database)
        return rows.map((row) => row.name)
      }
      const found = count === 0 ? [] : ['name 0']
      expect(await find(inList(database, 'name', names))).toEqual(found)
      expect(await find(inList(database, 'items.amount', amounts))).toEqual(found)
      const { rows } = await sql<{ count: number }>`
        select count(*) as count from ${createTextSource(database, 'given', names)}`.execute(database)
      expect(Number(rows[0]?.count)).toBe(count)
    })

    test.each([
      [0, undefined],
      [1, undefined],
      [999, undefined],
      [999, { name: 'text', amount: 'bigint', note: 'text' }],
    ])(
      '%i rows inserted again by their key, with the types %j - replace the stored ones',
      async (count, types) => {
        const database = await openEmpty()
        const options = { keys: ['name'], ...(types && { types }) }
        const items = makeItems(count)
        await insertRows(database, 'items', items, options)
        const changed = items.map((item) => ({ ...item, note: `${item.note}!` }))
        await insertRows(database, 'items', changed, options)
        expect(await readItems(database)).toEqual(changed)
      },
    )

    test('any rows - are stored, found by their names and joined as given', async () => {
      const database = await openEmpty()
      await fc.assert(
        fc.asyncProperty(anyItems, async (items) => {
          await sql`delete from items`.execute(database)
          await insertRows(database, 'items', items)
          const stored = await readItems(database)
          expect(stored.toSorted(byName)).toEqual([...items].toSorted(byName))
          const names = items.map((item) => item.name)
          const { rows: found } = await sql<Item>`
            select name from items where ${inList(database, 'name', names)}`.execute(database)
          expect(found).toHaveLength(items.length)
          const { rows: others } = await sql<Item>`
            select name from items where not ${inList(database, 'name', names)}`.execute(database)
          expect(others).toEqual([])
          const { rows: given } = await sql<{ value: string }>`
            select given.value from ${createTextSource(database, 'given', names)}
            join items on items.name = given.value`.execute(database)
          expect(given.map(({ value }) => value).toSorted()).toEqual(names.toSorted())
          const source = createRowSource(database, 'items', ['name', 'amount'])
          const text = `select given.name, given.amount from ${source} as given`
          const rows = await execute<Item>(database, text, [JSON.stringify(items)])
          expect(rows.map((row) => ({ ...row }))).toEqual(items.map(({ name, amount }) => ({ name, amount })))
        }),
        { numRuns: 50 },
      )
    })

    test('rows as JSON - have the same text; without rows, there is none or an empty array', async () => {
      const database = await openEmpty()
      const { array, groupArray, object, arrayLength } = getJsonFunctions(database)
      const read = async (): Promise<unknown> => {
        const [row] = await execute<{ json: string | null; count: number | null }>(
          database,
          `select cast(${groupArray}(${array}(name, amount, ${object}('note', note))) as text) as json,
            sum(${arrayLength('note')}) as count from items`,
          [],
        )
        return [JSON.parse(row?.json ?? '[]'), Number(row?.count)]
      }
      expect(await read()).toEqual([[], 0])
      await insertRows(database, 'items', [{ name: 'a', amount: null, note: '[1,2,3]' }])
      expect(await read()).toEqual([[['a', null, { note: '[1,2,3]' }]], 3])
    })

    test('row changed by its id - keeps columns without a value, and other rows', async () => {
      const database = await openEmpty()
      const first = await insertRowForId(database, 'items', { name: 'first', amount: 1, note: 'n' })
      const second = await insertRowForId(database, 'items', { name: 'second', amount: 2, note: 'n' })
      expect(second).not.toBe(first)
      await updateRow(database, 'items', second, { amount: null, note: undefined, name: 'third' })
      expect(await readItems(database)).toEqual([
        { name: 'first', amount: 1, note: 'n' },
        { name: 'third', amount: null, note: 'n' },
      ])
    })

    test.each([
      [undefined, 2],
      ['a', 1],
      ['b', 0],
    ])('column equal to %j - finds %i of two rows', async (value, count) => {
      const database = await openEmpty()
      await insertRows(database, 'items', [
        { name: 'a', amount: null, note: '' },
        { name: 'c', amount: null, note: '' },
      ])
      const { rows } = await sql`select 1 from items where ${isEqual('name', value)}`.execute(database)
      expect(rows).toHaveLength(count)
    })
  })
}

const byName = (a: Item, b: Item): number => (a.name < b.name ? -1 : Number(a.name > b.name))
