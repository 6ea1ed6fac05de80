import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { VIEWS_FOLDER } from '../../src/lib/files.ts'
import { createRenderer } from '../../src/widgets/render.ts'

/** Copy all templates to a temporary folder. */
function copyViews(): string {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-views-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  cpSync(VIEWS_FOLDER, folder, { recursive: true })
  return folder
}

describe('loading of templates', () => {
  const names = readdirSync(VIEWS_FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.eta'),
  )

  test.each(names)('%s is missing or broken - fails with its name', (name) => {
    const folder = copyViews()
    const message = `The template ${join(folder, name)} is missing or broken. Install this server again.`
    writeFileSync(join(folder, name), '<% if ( %>')
    expect(() => createRenderer(folder)).toThrow(message)
    rmSync(join(folder, name))
    expect(() => createRenderer(folder)).toThrow(message)
  })
})
