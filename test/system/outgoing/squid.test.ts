import { once } from 'node:events'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { expect, test, vi } from 'vitest'
import type { Environment } from '../../../src/config/config.ts'
import { CHANNEL, createTable } from '../../catalog-service/feeds/feed-fixture.ts'
import { send, startFeedServer } from '../../catalog-service/feeds/feed-server.ts'
import { makeFolder, makeSettings, runBuilt, startBuilt, startRemoteCatalog } from '../../cli/run-cli.ts'
import { makeCertificate } from '../../helpers/certificate.ts'
import { addCleanup } from '../../helpers/cleanup.ts'
import { EVENT_SECRET, startEventReceiver } from '../../helpers/event-receiver.ts'
import { CHANNEL_ID, makeWireProduct } from '../../helpers/fake-catalog.ts'
import { makePicture } from '../../pictures/picture-bytes.ts'
import { describeWithProgram, findFreePort, startProgram } from '../includes/program.ts'

/** The hosts that only squid knows. */
const HOSTS = ['catalog.example.com', 'events.example.com', 'feeds.example.com', 'pictures.example.com']

const PASSWORD = 'squid p@ss'

const certificate = makeCertificate(HOSTS)

/** Serve https with the certificate of all hosts before a port that speaks http. Return the port. */
async function startTls(address: string): Promise<number> {
  const server = createServer(certificate, (socket) => {
    const target = connect(Number(new URL(address).port), '127.0.0.1')
    target.on('error', () => socket.destroy())
    socket.on('error', () => target.destroy())
    socket.pipe(target).pipe(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  addCleanup(() => void server.close())
  return (server.address() as AddressInfo).port
}

/** Start squid, which demands a password. Pictures come from the port of `pictures`, because only port 443 is allowed for them. */
async function startSquid(pictures: number) {
  const folder = makeFolder()
  await chmod(folder, 0o755)
  const logs = join(folder, 'logs')
  await mkdir(logs)
  await chmod(logs, 0o777)
  const port = await findFreePort()
  const write = async (name: string, lines: readonly string[]): Promise<string> => {
    await writeFile(join(folder, name), `${lines.join('\n')}\n`)
    await chmod(join(folder, name), 0o755)
    return join(folder, name)
  }
  const login = await write('login.sh', [
    '#!/bin/sh',
    `while read -r line; do [ "$line" = "user ${PASSWORD.replaceAll(' ', '%20')}" ] && echo OK || echo ERR; done`,
  ])
  const rewrite = await write('rewrite.sh', [
    '#!/bin/sh',
    'while read -r url rest; do case "$url" in',
    `pictures.example.com:443) echo 'OK rewrite-url="pictures.example.com:${pictures}"';; *) echo ERR;; esac; done`,
  ])
  const config = await write('squid.conf', [
    `http_port 127.0.0.1:${port}`,
    `hosts_file ${await write('hosts', [`127.0.0.1 ${HOSTS.join(' ')}`])}`,
    `auth_param basic program ${login}`,
    `url_rewrite_program ${rewrite}`,
    'acl known proxy_auth REQUIRED',
    'http_access allow known',
    'http_access deny all',
    'cache deny all',
    `access_log stdio:${join(logs, 'access.log')}`,
    `cache_log ${join(logs, 'cache.log')}`,
    `pid_filename ${join(logs, 'squid.pid')}`,
    `coredump_dir ${logs}`,
    'shutdown_lifetime 0 seconds',
  ])
  const running = await startProgram({ command: 'squid', args: ['-N', '-f', config], port })
  addCleanup(() => running.stop())
  /** Return the targets that squid has seen with a valid password, sorted. */
  const readTargets = async (): Promise<readonly string[]> => {
    const lines = (await readFile(join(logs, 'access.log'), 'utf8')).split('\n')
    const targets = lines.flatMap((line) => /\/200 .* CONNECT ([\w.]+):\d+ /.exec(line)?.[1] ?? [])
    return [...new Set(targets)].sort()
  }
  const caFile = join(folder, 'ca.pem')
  await writeFile(caFile, certificate.cert)
  const toVariables = (password: string): Environment => ({
    HTTPS_PROXY: `http://user:${encodeURIComponent(password)}@127.0.0.1:${port}`,
    NODE_EXTRA_CA_CERTS: caFile,
  })
  return { toVariables, readTargets }
}

describeWithProgram('squid', 'squid with a password, and an own certificate authority', () => {
  test('catalog, walk, pictures and webhook over https - all go through it', async () => {
    const folder = makeFolder()
    const { catalog, settings } = await startRemoteCatalog(folder)
    const receiver = await startEventReceiver()
    const picture = await makePicture('jpeg')
    const pictures = await startFeedServer(send(picture, { 'content-type': 'image/jpeg' }))
    const images = [{ url: 'https://pictures.example.com/lamp.jpg' }]
    catalog.products.set(CHANNEL_ID, [makeWireProduct({ images })])
    const squid = await startSquid(await startTls(pictures.url))
    const environment = {
      ...settings,
      ...squid.toVariables(PASSWORD),
      VITRINE_CATALOG_URL: `https://catalog.example.com:${await startTls(catalog.url)}`,
      VITRINE_EVENTS_URL: `https://events.example.com:${await startTls(receiver.url)}/hook`,
      VITRINE_EVENTS_SECRET: EVENT_SECRET,
      VITRINE_PICTURES: 'proxy',
    }
    const check = await runBuilt(['check'], environment)
    expect(check.out).toContain('good   webhook: accepts a signed ping')
    expect([check.code, check.out]).toEqual([
      0,
      expect.stringContaining('used for the catalog and the webhook'),
    ])

    const running = startBuilt(['serve', '--json'], environment)
    const { publicUrl } = JSON.parse(await running.firstLine) as { publicUrl: string }
    const box = `${publicUrl}/fragments/${CHANNEL_ID}/where-to-buy/09521234567899`
    const path = await vi.waitFor(async () => {
      const found = /\/pictures\/[\da-f]{32}\/\d+/.exec(await (await fetch(box)).text())?.[0]
      expect(found).toBeDefined()
      return found
    })
    const response = await fetch(`${publicUrl}${path}`)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/webp'])
    expect(pictures.requests).toHaveLength(1)
    expect(await running.stop('SIGINT')).toEqual({ code: 0 })
    await vi.waitFor(async () =>
      expect(await squid.readTargets()).toEqual(HOSTS.filter((host) => !host.startsWith('feeds'))),
    )
  })

  test('feed of a server that runs it by itself - goes through it', async () => {
    const feeds = await startFeedServer(send(createTable(3)))
    const squid = await startSquid(1)
    const settings = { ...makeSettings(makeFolder()), ...squid.toVariables(PASSWORD) }
    const url = `https://feeds.example.com:${await startTls(feeds.url)}/feed.csv`
    const added = await runBuilt(
      ['catalog', 'feeds', 'add', 'main', '--url', url, '--channel', CHANNEL],
      settings,
    )
    expect(added, added.err).toMatchObject({ code: 0 })
    const running = startBuilt(['serve', '--json'], settings)
    await running.firstLine
    await vi.waitFor(() => expect(feeds.requests).not.toEqual([]))
    await running.stop('SIGINT')
    await vi.waitFor(async () => expect(await squid.readTargets()).toEqual(['feeds.example.com']))
  })

  test('wrong password - check says what the proxy demands', async () => {
    const { settings } = await startRemoteCatalog(makeFolder())
    const squid = await startSquid(1)
    const url = { VITRINE_CATALOG_URL: 'https://catalog.example.com' }
    const { code, out } = await runBuilt(['check'], { ...settings, ...squid.toVariables('wrong'), ...url })
    expect(code).toBe(1)
    expect(out).toContain('the proxy demands a user and password (PROXY_STATUS_407)')
    expect(await squid.readTargets()).toEqual([])
  })
})
