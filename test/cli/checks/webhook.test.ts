import { expect, test } from 'vitest'
import { EVENT_SECRET, isSignatureValid, startEventReceiver } from '../../helpers/event-receiver.ts'
import { makeFolder, runInProcess, startRemoteCatalog } from '../run-cli.ts'

test('check, the receiver is away - says why and what to do', async () => {
  const { settings } = await startRemoteCatalog(makeFolder())
  const webhook = { VITRINE_EVENTS_URL: 'http://127.0.0.1:1/', VITRINE_EVENTS_SECRET: EVENT_SECRET }
  const { out } = await runInProcess(['check'], { ...settings, ...webhook })
  expect(out).toContain('does not accept a signed ping: connection refused (ECONNREFUSED)')
  expect(out).toContain('Check VITRINE_EVENTS_URL, that the server runs')
})

test('check - sends a signed ping, and says what is wrong without the address', async () => {
  const receiver = await startEventReceiver()
  const { settings } = await startRemoteCatalog(makeFolder())
  const check = async (): Promise<{ code: number | null; line: string }> => {
    const webhook = { VITRINE_EVENTS_URL: receiver.url, VITRINE_EVENTS_SECRET: EVENT_SECRET }
    const { code, out, err } = await runInProcess(['check'], { ...settings, ...webhook })
    expect(out + err).not.toMatch(/path-secret|test-signing-secret/)
    return { code, line: out.split('\n').find((text) => text.includes('webhook')) ?? '' }
  }
  expect(await check()).toEqual({ code: 0, line: 'good   webhook: accepts a signed ping' })
  receiver.responses.push((response) => void response.writeHead(401).end())
  expect(await check()).toEqual({
    code: 1,
    line: 'WRONG  webhook: does not accept a signed ping: status 401',
  })
  expect(receiver.received.map(({ body }) => JSON.parse(body) as unknown)).toEqual(
    Array.from({ length: 2 }, () => ({
      version: 1,
      id: expect.any(String) as string,
      type: 'ping',
      at: expect.any(String) as string,
    })),
  )
  expect(await Promise.all(receiver.received.map((one) => isSignatureValid(one)))).toEqual([true, true])
})
