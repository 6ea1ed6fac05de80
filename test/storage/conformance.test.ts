import { makeCopyFile } from '../helpers/copy-file.ts'
import { describeCopy } from './conformance/copy.ts'
import { makeCopyFixture } from './conformance/sql-fixture.ts'

describeCopy({
  name: 'SQLite file',
  isShared: true,
  async start() {
    const { path, remove } = await makeCopyFile()
    return makeCopyFixture({ address: { kind: 'sqlite', path }, isShared: true }, remove)
  },
})

describeCopy({
  name: 'SQLite in memory',
  isShared: false,
  start: () =>
    Promise.resolve(
      makeCopyFixture({ address: { kind: 'sqlite', path: ':memory:' }, isShared: false }, () =>
        Promise.resolve(),
      ),
    ),
})
