import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findFreePort, startProgram } from '../includes/program.ts'
import { type CdnFixture, readDeployFile } from './fixture.ts'

/** The folder for the files of a program, and the fixture that stops it. */
type ProgramFixture = Pick<CdnFixture, 'folder' | 'stopOnDispose'>

/** A running CDN with a configuration of deploy/. */
export type Cdn = Readonly<{ origin: string; cacheFolder: string }>

/** Texts of a file of deploy/ and their replacements. */
type Replacements = readonly (readonly [from: string, to: string])[]

/** Start Varnish with deploy/varnish/vitrine.vcl. `replacements`: in addition to the addresses. */
export async function startVarnish(
  fixture: ProgramFixture,
  ports: readonly number[],
  replacements: Replacements = [],
): Promise<Cdn> {
  const port = await findFreePort()
  const folder = join(fixture.folder, `varnish-${port}`)
  await mkdir(folder)
  const servers = ports.map((to, index): readonly [string, string] => [
    `.host = "10.0.0.1${index + 1}"; .port = "3000"`,
    `.host = "127.0.0.1"; .port = "${to}"`,
  ])
  await writeFile(
    join(folder, 'default.vcl'),
    readDeployFile('varnish/vitrine.vcl', [...servers, ...replacements]),
  )
  const args = ['-F', '-n', folder, '-a', `127.0.0.1:${port}`, '-f', join(folder, 'default.vcl')]
  fixture.stopOnDispose(
    await startProgram({ command: 'varnishd', args: [...args, '-s', 'malloc,32m'], port }),
  )
  return { origin: `http://127.0.0.1:${port}`, cacheFolder: folder }
}

/** Start nginx with deploy/nginx/vitrine-cache.conf. `replacements`: in addition to the addresses. */
export async function startNginx(
  fixture: ProgramFixture,
  ports: readonly number[],
  replacements: Replacements = [],
): Promise<Cdn> {
  const port = await findFreePort()
  const folder = join(fixture.folder, `nginx-${port}`)
  await mkdir(folder)
  const cacheFolder = join(folder, 'cache')
  const cacheConfig = readDeployFile('nginx/vitrine-cache.conf', [
    ...ports.map((to, index) => [`10.0.0.1${index + 1}:3000`, `127.0.0.1:${to}`] as const),
    ['listen 80;', `listen 127.0.0.1:${port};`],
    ['/var/cache/nginx/vitrine', cacheFolder],
    ...replacements,
  ])
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  )
  const config = `daemon off; worker_processes 2; pid ${folder}/nginx.pid; error_log ${folder}/error.log warn;
events {}
http { access_log off; default_type text/html; ${temporary.join(' ')}
${cacheConfig}
}`
  await writeFile(join(folder, 'nginx.conf'), config)
  const args = ['-p', folder, '-c', join(folder, 'nginx.conf')]
  fixture.stopOnDispose(await startProgram({ command: 'nginx', args, port }))
  return { origin: `http://127.0.0.1:${port}`, cacheFolder }
}

/** Start HAProxy with deploy/compose/haproxy.cfg. */
export async function startHaproxy(
  fixture: ProgramFixture,
  ports: readonly [number, number, number],
): Promise<Cdn> {
  const port = await findFreePort()
  const file = join(fixture.folder, `haproxy-${port}.cfg`)
  const config = readDeployFile('compose/haproxy.cfg', [
    ['bind :8080', `bind 127.0.0.1:${port}`],
    [' resolvers docker init-addr', ' init-addr'],
    ['server a vitrine-a:3000', `server a 127.0.0.1:${ports[0]}`],
    ['server b vitrine-b:3000', `server b 127.0.0.1:${ports[1]}\n  server c 127.0.0.1:${ports[2]}`],
  ])
  await writeFile(file, config)
  fixture.stopOnDispose(await startProgram({ command: 'haproxy', args: ['-db', '-f', file], port }))
  return { origin: `http://127.0.0.1:${port}`, cacheFolder: fixture.folder }
}
