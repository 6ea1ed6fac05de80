import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { describeWithProgram, findFreePort } from '../includes/program.ts'
import { runContainer, runInside } from './container.ts'
import { type Image, buildImage } from './image.ts'

/** Path of a box of the sample data. */
const BOX = '/fragments/952a0000-0000-4000-8000-000000000001/where-to-buy/09520001001024'

/** A build changes owners, a container runs as another user, and both mount: root needs the right, which containers lack. */
const CAN_BUILD = process.getuid?.() === 0 && spawnSync('unshare', ['--mount', 'true']).status === 0

// The tests do not need Docker: they run the steps of the Dockerfile in a sandbox with the same isolation.
describeWithProgram('bwrap', 'the image', () => {
  describe.skipIf(!CAN_BUILD)('built by root with the right to mount', () => {
    let image: Image
    beforeAll(async () => {
      image = await buildImage()
    })
    afterAll(() => image?.remove())

    it('files - after the build - are only those that the server needs', () => {
      const app = join(image.root, 'app')
      expect(readdirSync(app).toSorted()).toEqual(
        [
          'LICENSE',
          'compose.yaml',
          'deploy',
          'dist',
          'node_modules',
          'package.json',
          'public',
          'views',
        ].toSorted(),
      )
      expect(
        readdirSync(join(app, 'dist'), { recursive: true }).filter((name) => String(name).endsWith('.map')),
      ).toEqual([])
      const packages = readdirSync(join(app, 'node_modules'))
      expect(packages).toContain('express')
      expect(packages).toContain('sharp')
      for (const name of ['vitest', 'esbuild', 'typescript', 'playwright-core', '@photostructure'])
        expect(packages).not.toContain(name)
      expect(readdirSync(join(app, 'public')).toSorted()).toEqual(['built', 'logo.svg', 'released', 'styles'])
    })

    it('a start without settings - on a read-only file system - serves, is healthy, and stops on SIGTERM', async () => {
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

      // Exit code 0 means a clean stop; one that needs more than 9.5 s exits with another code.
      await container.sendSignal('SIGTERM')
      expect(await container.ended, container.output()).toBe(0)
      expect((await runInside(image, undefined, settings)).code).toBe(1)
    })

    it('arguments after the image name - as in docker run - are a vitrine command', async () => {
      const container = runContainer(image, ['check'])
      expect(await container.ended, container.output()).toBe(0)
    })

    it('any user of the group 0, as on OpenShift - can write to /data', async () => {
      const settings = {
        VITRINE_DATABASE_URL: 'sqlite:/data/any-user/copy.db',
        VITRINE_CATALOG_DATABASE_URL: 'sqlite:/data/any-user/catalog.db',
      }
      const container = runContainer(image, ['check'], settings, '54321:0')
      await container.ended
      expect(container.output()).toContain('stored copy: /data/any-user/copy.db opens')
      const { uid, gid, mode } = statSync(join(image.root, 'data'))
      expect([uid, gid, (mode & 0o777).toString(8)]).toEqual([1000, 0, '775'])
    })

    it('a process in the container - runs as the user of the image, and writes only to /data and /tmp', async () => {
      const script =
        'id -u; for file in /app/x /etc/x /usr/x /x /data/x /tmp/x; do touch $file && echo "$file"; done'
      const { output } = await runInside(image, ['sh', '-c', `${script} 2>/dev/null`])
      expect(output.trim().split('\n')).toEqual(['1000', '/data/x', '/tmp/x'])
      expect(existsSync(join(image.root, 'app/x'))).toBe(false)
    })
  })
})
