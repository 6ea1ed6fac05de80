import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { describeWithProgram, findFreePort } from '../includes/program.ts'
import { runContainer, runInside } from './container.ts'
import { type Image, buildImage } from './image.ts'

/** Of the sample data. */
const BOX = '/fragments/952a0000-0000-4000-8000-000000000001/where-to-buy/09520001001024'

/** A build sets owners, and a container starts as somebody else: only root may do both. */
const IS_ROOT = process.getuid?.() === 0

// There is no Docker here: the steps are those of the Dockerfile, and what runs them is a sandbox with the same walls.
describeWithProgram('bwrap', 'the image', () => {
  describe.skipIf(!IS_ROOT)('as root builds it', () => {
    let image: Image
    beforeAll(async () => {
      image = await buildImage()
    })
    afterAll(() => image?.remove())

    it('its files - after the build - are what running needs and nothing else', () => {
      const app = join(image.root, 'app')
      expect(readdirSync(app).toSorted()).toEqual(
        ['LICENSE', 'dist', 'node_modules', 'package.json', 'public', 'views'].toSorted(),
      )
      const packages = readdirSync(join(app, 'node_modules'))
      expect(packages).toContain('express')
      for (const name of ['vitest', 'esbuild', 'typescript', 'playwright-core', '@photostructure'])
        expect(packages).not.toContain(name)
      expect(readdirSync(join(app, 'public')).toSorted()).toEqual(['built', 'released', 'styles'])
    })

    it('a start with nothing set - on a read-only file system - serves, is healthy, and ends on SIGTERM', async () => {
      const port = await findFreePort()
      const settings = { VITRINE_PORT: String(port) }
      const container = runContainer(image, [], settings)
      await vi.waitFor(
        async () => {
          const { code, output } = await runInside(image, undefined, settings)
          expect(code, `${output} ${container.output()}`).toBe(0)
        },
        { interval: 200 },
      )
      await vi.waitFor(() => expect(container.output()).toContain('/where-to-buy/'))
      const box = await fetch(`http://127.0.0.1:${port}${BOX}`)
      expect(box.headers.get('vitrine-state')).toBe('shown')
      expect(statSync(join(image.root, 'data/vitrine.db')).uid).toBe(1000)

      // By itself: one that needs more than 9.5 s ends with another code.
      await container.sendSignal('SIGTERM')
      expect(await container.ended, container.output()).toBe(0)
      expect((await runInside(image, undefined, settings)).code).toBe(1)
    })

    it('words after its name - as of docker run - are a command of vitrine', async () => {
      const container = runContainer(image, ['check'])
      expect(await container.ended, container.output()).toBe(0)
    })

    it('whoever runs in it - is the user of the image - and writes to /data and /tmp only', async () => {
      const script =
        'id -u; for file in /app/x /etc/x /usr/x /x /data/x /tmp/x; do touch $file && echo "$file"; done'
      const { output } = await runInside(image, ['sh', '-c', `${script} 2>/dev/null`])
      expect(output.trim().split('\n')).toEqual(['1000', '/data/x', '/tmp/x'])
      expect(existsSync(join(image.root, 'app/x'))).toBe(false)
    })
  })
})
