import { join } from 'node:path'
import { expect, it } from 'vitest'
import { makeFolder, runInProcess, startRemoteCatalog } from '../run-cli.ts'

it.each(['VITRINE_CATALOG_KEY_FILE', 'VITRINE_SHOPS_FILE', 'VITRINE_SUB_IDS_FILE'])(
  'missing file of %s - 1, with the remedy, and the rest is checked',
  async (name) => {
    const folder = makeFolder()
    const { settings } = await startRemoteCatalog(folder)
    const { code, out } = await runInProcess(['check', '--json'], {
      ...settings,
      ...(name === 'VITRINE_CATALOG_KEY_FILE' && { VITRINE_CATALOG_KEY: undefined }),
      [name]: join(folder, 'missing'),
    })
    expect(code).toBe(1)
    const findings = JSON.parse(out) as { subject: string; message: string; remedy: string | null }[]
    expect(findings).toContainEqual(
      expect.objectContaining({
        message: `${name}: the file does not exist (VITRINE_FILE_UNREADABLE)`,
        remedy: 'Create it, mount its volume, or correct the path.',
      }),
    )
    expect(findings.map(({ subject }) => subject)).toContain('listener')
  },
)
