import { makeCopyFile } from '../helpers/copy-file.ts'
import { describeCopy } from './conformance/copy.ts'
import { makePlace } from './conformance/sql-place.ts'

describeCopy({
  name: 'SQLite file',
  async start() {
    const { path, remove } = await makeCopyFile()
    return makePlace({ address: { kind: 'sqlite', path }, isShared: true }, remove)
  },
})

describeCopy({
  name: 'SQLite in memory',
  start: () =>
    Promise.resolve(
      makePlace({ address: { kind: 'sqlite', path: ':memory:' }, isShared: false }, () => Promise.resolve()),
    ),
})
