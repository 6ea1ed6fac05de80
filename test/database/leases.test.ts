import { join } from 'node:path'
import { addCleanup } from '../helpers/cleanup.ts'
import { makeCopyFile } from '../helpers/copy-file.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { describeLeases } from './lease-model.ts'

const START_MS = Date.UTC(2026, 0, 1)

/** A file belongs to one machine, so all processes have its clock. */
describeLeases('SQLite', async () => {
  const { folder, path, remove } = await makeCopyFile()
  addCleanup(remove)
  const clock = createFakeClock(START_MS)
  return {
    copyAddress: { kind: 'sqlite', path },
    catalogAddress: { kind: 'sqlite', path: join(folder, 'catalog.db') },
    getClock: () => clock,
    passTime: (byMs) => Promise.resolve(clock.step(byMs)),
    listRemainingMs: (forMs) => [-forMs, 0, 1, forMs / 2, 2 * forMs, 2 * forMs + 1],
  }
})
