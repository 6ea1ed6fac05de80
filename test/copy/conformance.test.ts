import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeCopy } from './conformance/copy.ts'
import { makePlace } from './conformance/sql-place.ts'

describeCopy({
  name: 'SQLite file',
  async start() {
    const folder = await mkdtemp(join(tmpdir(), 'vitrine-copy-'))
    const address = { kind: 'sqlite', path: join(folder, 'copy.db') } as const
    return makePlace({ address, isShared: true }, () => rm(folder, { recursive: true, force: true }))
  },
})

describeCopy({
  name: 'SQLite in memory',
  start: () =>
    Promise.resolve(
      makePlace({ address: { kind: 'sqlite', path: ':memory:' }, isShared: false }, () => Promise.resolve()),
    ),
})
