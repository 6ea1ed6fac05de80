import { afterEach, expect, test, vi } from 'vitest'
import { fetchFragment } from '../../packages/embed/src/fragment.ts'
import { addCleanup } from '../helpers/cleanup.ts'
import { type PageServer, startPageServer, toHtmlResponse } from '../helpers/page-server.ts'

const CHANNEL = '6f0c1f7e-0000-4000-8000-000000000001'

afterEach(() => {
  vi.restoreAllMocks()
})

async function startWidgets(): Promise<PageServer> {
  const server = await startPageServer()
  addCleanup(() => server.close())
  return server
}

test('fetchFragment - each kind of element - the HTML of its address', async () => {
  const { origin, responses } = await startWidgets()
  const paths = ['where-to-buy/1', 'picks/1,2', 'deals']
  for (const path of paths) responses.set(`/shops/fragments/${CHANNEL}/${path}`, toHtmlResponse(path))
  const common = { server: `${origin}/shops`, channel: CHANNEL }
  expect(
    await Promise.all([
      fetchFragment('where-to-buy', { ...common, gtin: '1' }),
      fetchFragment('round-up', { ...common, gtins: '1, 2' }),
      fetchFragment('deal-grid', { ...common, server: `${origin}/shops/`, limit: 4 }),
    ]),
  ).toEqual(paths)
})

test('fetchFragment - options - are the query; height and title are not', async () => {
  const request = vi.spyOn(globalThis, 'fetch').mockResolvedValue(new Response('box'))
  const attributes = { server: 'https://widgets.example', channel: CHANNEL, height: 300, title: 'Shops' }
  await fetchFragment('deal-grid', { ...attributes, min_discount: 20, merchant: 'Kopje|Tweede' })
  expect(request.mock.calls[0]?.[0]).toBe(
    `https://widgets.example/fragments/${CHANNEL}/deals?merchant=Kopje&merchant=Tweede&min_discount=20`,
  )
})

test.each([
  ['status 404', { channel: 'unknown' }],
  ['closed connection', { channel: 'closed' }],
  ['invalid server', { server: 'widgets' }],
  ['no server', { server: '' }],
  ['no product', { gtin: '' }],
])('fetchFragment - %s - an empty text', async (_condition, change) => {
  const { origin, responses } = await startWidgets()
  responses.set('/fragments/closed/where-to-buy/1', null)
  const attributes = { server: origin, channel: CHANNEL, gtin: '1' }
  expect(await fetchFragment('where-to-buy', Object.assign(attributes, change))).toBe('')
})

test.each([
  "javascript://x/%0Aparent.document.title='XSS';//",
  ' JavaScript://x/%0A1;//',
  'java\nscript://x/%0A1;//',
  'data://text/html,box',
  'data:text/html,box',
  'vbscript://x/',
  'blob:https://widgets.example/1',
  'file:///var/box',
  'httpx://widgets.example',
])('server %j - no request', async (server) => {
  const request = vi.spyOn(globalThis, 'fetch').mockResolvedValue(new Response('box'))
  expect(await fetchFragment('where-to-buy', { server, channel: CHANNEL, gtin: '1' })).toBe('')
  expect(request).not.toHaveBeenCalled()
})

test('fetchFragment - no response within a second - an empty text', async () => {
  const { origin, responses } = await startWidgets()
  responses.set(`/fragments/${CHANNEL}/where-to-buy/1`, toHtmlResponse('box'))
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort())
  expect(await fetchFragment('where-to-buy', { server: origin, channel: CHANNEL, gtin: '1' })).toBe('')
  expect(timeout).toHaveBeenCalledExactlyOnceWith(1_000)
})
