import { once } from 'node:events'
import { type RequestListener, createServer } from 'node:http'
import { type AddressInfo, type Server, createServer as createTcpServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Environment } from '../../../../src/config/config.ts'
import { makeFolder, runInProcess, startBuilt, startRemoteCatalog } from '../../../cli/run-cli.ts'

type Finding = { subject: string; isGood: boolean; message: string; remedy: string | null }

async function checkAt(
  port: number,
  over: Environment = {},
): Promise<Readonly<{ code: number | null; listener: Finding | undefined }>> {
  const { settings } = await startRemoteCatalog(makeFolder())
  const environment = { ...settings, VITRINE_PORT: String(port), ...over }
  const { code, out } = await runInProcess(['check', '--json'], environment)
  const findings = JSON.parse(out) as Finding[]
  return { code, listener: findings.find(({ subject }) => subject === 'listener') }
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

describe('check of the listen address', () => {
  it('free port - reported as available', async () => {
    const server = createTcpServer()
    const port = await listen(server)
    server.close()
    await once(server, 'close')
    const { code, listener } = await checkAt(port)
    expect([code, listener?.message]).toEqual([0, `can listen on 127.0.0.1:${port}`])
  })

  it('VITRINE_PORT=0 - reported as any free port', async () => {
    expect((await checkAt(0)).listener?.message).toBe('can listen on a free port of 127.0.0.1')
  })

  it('running Vitrine - reported as running, no problem', async () => {
    const { settings } = await startRemoteCatalog(makeFolder())
    const { publicUrl } = JSON.parse(await startBuilt(['serve', '--json'], settings).firstLine) as {
      publicUrl: string
    }
    const { port } = new URL(publicUrl)
    const { code, listener } = await checkAt(Number(port))
    expect([code, listener?.message]).toEqual([0, `Vitrine is running on 127.0.0.1:${port}`])
  })

  it.each<[string, RequestListener]>([
    ['says ok', (_request, response) => response.end('{"status":"ok"}')],
    ['leads to another server', (_request, response) => response.writeHead(301, { location: '/x' }).end()],
    ['never responds', () => undefined],
  ])('other program that %s - 1, with a remedy', async (_name, respond) => {
    const server = createServer(respond)
    onTestFinished(() => server.closeAllConnections())
    const port = await listen(server)
    const { code, listener } = await checkAt(port)
    expect(code).toBe(1)
    expect(listener).toMatchObject({
      isGood: false,
      message: expect.stringContaining(`cannot listen on 127.0.0.1, port ${port}: the port is in use`),
      remedy: expect.stringContaining('VITRINE_PORT'),
    })
  })

  it('address of another machine - 1, with a remedy', async () => {
    const { code, listener } = await checkAt(0, { VITRINE_HOST: '192.0.2.1' })
    expect(code).toBe(1)
    expect(listener).toMatchObject({ isGood: false, remedy: expect.stringContaining('VITRINE_HOST') })
  })
})
