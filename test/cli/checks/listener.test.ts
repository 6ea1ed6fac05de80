import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Environment } from '../../../src/config/config.ts'
import { SERVER_NAME } from '../../../src/http/server.ts'
import { startHarness } from '../../app/app-client.ts'
import { makeFolder, runInProcess, startRemoteCatalog } from '../run-cli.ts'

type Finding = { subject: string; isGood: boolean; message: string; remedy: string | null }

/** The finding about proxies, which is never a failure. */
async function checkProxy(settings: Environment): Promise<Finding[]> {
  const { code, out } = await runInProcess(['check', '--json'], settings)
  expect(code).toBe(0)
  expect(out).not.toContain('correct-horse')
  return (JSON.parse(out) as Finding[]).filter(({ subject }) => subject === 'proxy')
}

describe('listener check', () => {
  it.each([
    ['as Vitrine, ready', 200, SERVER_NAME, 0, /^Vitrine is running on 127\.0\.0\.1:\d+$/],
    ['as Vitrine, with an error', 500, SERVER_NAME, 1, /in use/],
    ['as another program', 200, 'nginx', 1, /in use/],
  ])('port that responds %s - is known or taken', async (...row) => {
    const [, status, name, expectedCode, message] = row
    const server = createServer((_request, response) => response.writeHead(status, { server: name }).end())
    server.listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const { settings } = await startRemoteCatalog(makeFolder())
    const VITRINE_PORT = String((server.address() as AddressInfo).port)
    const { code, out } = await runInProcess(['check', '--json'], { ...settings, VITRINE_PORT })
    expect(code).toBe(expectedCode)
    const findings = JSON.parse(out) as Finding[]
    expect(findings.find(({ subject }) => subject === 'listener')).toMatchObject({
      isGood: expectedCode === 0,
      message: expect.stringMatching(message),
    })
  })
})

describe('proxy check', () => {
  const PASSWORD = { VITRINE_ADMIN_PASSWORD: 'correct-horse' }

  /** Start a proxy that adds `X-Forwarded-For` and forwards to the app with these settings; return its address. */
  async function startProxied(settings: Environment): Promise<string> {
    const { app } = await startHarness({ settings: { ...PASSWORD, ...settings } })
    const proxy = createServer((request, response) => {
      request.headers['x-forwarded-for'] = '192.0.2.1'
      app(request, response)
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void proxy.close())
    await once(proxy, 'listening')
    return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  }

  it('all proxies trusted - a warning, no failure', async () => {
    const { settings } = await startRemoteCatalog(makeFolder())
    const [finding] = await checkProxy({ ...settings, VITRINE_TRUST_PROXY: 'true' })
    expect(finding).toMatchObject({
      isGood: true,
      message: expect.stringContaining('VITRINE_TRUST_PROXY=true'),
    })
    expect(finding?.remedy).toContain('VITRINE_TRUST_PROXY')
  })

  it('running server behind an untrusted proxy - a warning, no failure', async () => {
    const { settings } = await startRemoteCatalog(makeFolder())
    const VITRINE_PUBLIC_URL = await startProxied({})
    const [finding] = await checkProxy({ ...settings, ...PASSWORD, VITRINE_PUBLIC_URL })
    expect(finding).toMatchObject({
      isGood: true,
      message: expect.stringContaining('X-Forwarded-For was ignored'),
    })
  })

  it.each([
    ['behind a proxy that it trusts', { VITRINE_TRUST_PROXY: 'loopback' }],
    ['not running', null],
  ])('server %s - no finding about proxies', async (_case, serverSettings) => {
    const { settings } = await startRemoteCatalog(makeFolder())
    const VITRINE_PUBLIC_URL =
      serverSettings === null ? 'http://127.0.0.1:9' : await startProxied(serverSettings)
    expect(await checkProxy({ ...settings, ...PASSWORD, VITRINE_PUBLIC_URL })).toEqual([])
  })
})
