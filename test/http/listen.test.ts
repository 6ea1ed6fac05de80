import { once } from 'node:events'
import { type AddressInfo, Server, createServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ConfigError, ListenError } from '../../src/errors.ts'
import { listen } from '../../src/http/listen.ts'

/** A server whose `listen` fails as that of a machine in another state. */
class FailingServer extends Server {
  readonly #code: string

  constructor(code: string) {
    super()
    this.#code = code
  }

  override listen(): this {
    setImmediate(() => this.emit('error', Object.assign(new Error('listen failed'), { code: this.#code })))
    return this
  }
}

const listenWith = (code: string, host = '192.0.2.1'): Promise<number> =>
  listen(new FailingServer(code), host, 443)

describe('listen', () => {
  it('port 0 - returns the port in use; the same port again - ListenError with a remedy', async () => {
    const first = createServer()
    onTestFinished(() => void first.close())
    const port = await listen(first, '127.0.0.1', 0)
    expect(port).toBe((first.address() as AddressInfo).port)
    await expect(listen(createServer(), '127.0.0.1', port)).rejects.toMatchObject({
      code: 'VITRINE_LISTEN_FAILED',
      message: `cannot listen on 127.0.0.1, port ${port}: the port is in use`,
      remedy: 'Stop the other program, or set VITRINE_PORT to a free port.',
    })
    first.close()
    await once(first, 'close')
  })

  it.each([
    ['EADDRINUSE', 'the port is in use', 'VITRINE_PORT'],
    ['EADDRNOTAVAIL', 'this machine does not have the address now', 'VITRINE_HOST'],
    ['EINVAL', 'this machine does not have the address now', 'VITRINE_HOST'],
    ['ENOTFOUND', 'the name has no address', 'DNS'],
    ['EAI_AGAIN', 'the name has no address', 'DNS'],
    ['EMFILE', 'too many files are open', 'LimitNOFILE='],
    ['ENFILE', 'too many files are open', 'LimitNOFILE='],
    ['EIO', 'EIO', 'VITRINE_HOST'],
  ])('%s, which can pass by itself - ListenError: %s', async (code, reason, remedy) => {
    const error = await listenWith(code).catch((failure: unknown) => failure)
    expect(error).toBeInstanceOf(ListenError)
    expect(error).toMatchObject({
      message: `cannot listen on 192.0.2.1, port 443: ${reason}`,
      remedy: expect.stringContaining(remedy),
    })
  })

  it('missing loopback address - the remedy names no setting, because the embedded catalog has none', async () => {
    await expect(listenWith('EADDRNOTAVAIL', '127.0.0.1')).rejects.toMatchObject({
      remedy: expect.stringMatching(/^(?!.*VITRINE_).*loopback/),
    })
  })

  it.each([
    ['EACCES', /^VITRINE_PORT: .*port 443/],
    ['EAFNOSUPPORT', /^VITRINE_HOST: .*IPv6/],
  ])('%s, which only other settings change - ConfigError', async (code, problem) => {
    const error = await listenWith(code).catch((failure: unknown) => failure)
    expect(error).toBeInstanceOf(ConfigError)
    expect(error).toMatchObject({ problems: [expect.stringMatching(problem)] })
  })
})
