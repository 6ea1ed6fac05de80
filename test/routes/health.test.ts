import request from 'supertest'
import { describe, expect, test } from 'vitest'
import { createApp } from '../../src/app.ts'
import { StoreError } from '../../src/errors.ts'
import { BOX, startHarness, startStocked, visit } from '../app/visit.ts'
import { sendJson } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'

const FAILING = (harness: Harness): void => {
  harness.catalog.fault = { matches: /./, does: (_request, response) => sendJson(response, 500, {}) }
}

async function readReadiness(harness: Pick<Harness, 'app'>): Promise<unknown> {
  const seen = await visit(harness, '/readyz')
  return { status: seen.status, cache: seen.headers['cache-control'], ...(JSON.parse(seen.text) as object) }
}

const failPing = (): Promise<void> => Promise.reject(new StoreError('broken'))

describe('/healthz', () => {
  test('stopping, store broken - still alive', async () => {
    const { context } = await startHarness()
    const app = createApp({ ...context, store: { ...context.store, ping: failPing } }, () => true)
    const seen = await visit({ app }, '/healthz')
    expect([seen.status, seen.text]).toEqual([200, '{"status":"ok"}'])
  })

  test('asked often - calls neither catalog nor store', async () => {
    const harness = await startHarness()
    await visit(harness, '/healthz')
    expect(harness.catalog.calls).toEqual([])
  })
})

describe('/readyz', () => {
  test('catalog that answers - ready, and says why', async () => {
    expect(await readReadiness(await startHarness())).toMatchObject({
      status: 200,
      cache: 'no-store',
      ready: true,
      reason: 'the channels are known',
    })
  })

  test('catalog down, nothing stored - not ready', async () => {
    const harness = await startHarness()
    FAILING(harness)
    expect(await readReadiness(harness)).toMatchObject({
      status: 503,
      cache: 'no-store',
      ready: false,
      reason: 'the channels could not be listed yet',
    })
  })

  test('catalog that answers without a channel - ready: it was reached', async () => {
    const harness = await startHarness()
    harness.catalog.channels = []
    expect(await readReadiness(harness)).toMatchObject({ status: 200, ready: true })
  })

  test('catalog down, list of channels in the copy - ready without a call', async () => {
    const harness = await startHarness()
    FAILING(harness)
    await harness.context.store.putChannelList(harness.catalog.channels.slice(), harness.clock.nowMs())
    expect(await readReadiness(harness)).toMatchObject({ status: 200, ready: true })
    expect(harness.catalog.calls).toEqual([])
  })

  test('stopping - not ready although everything is there', async () => {
    const { context } = await startStocked()
    let isStopping = false
    const app = createApp(context, () => isStopping)
    expect(await readReadiness({ app })).toMatchObject({ status: 200, ready: true })
    isStopping = true
    expect(await readReadiness({ app })).toEqual({
      status: 503,
      cache: 'no-store',
      ready: false,
      reason: 'stopping',
    })
  })

  test('store that cannot be read - not ready although channels are in memory, and ready when it can', async () => {
    const { context } = await startStocked()
    await context.channels.listChannels()
    let isBroken = true
    const ping = (): Promise<void> => (isBroken ? Promise.reject(new StoreError('x')) : Promise.resolve())
    const app = createApp({ ...context, store: { ...context.store, ping } })
    expect(await readReadiness({ app })).toMatchObject({
      status: 503,
      ready: false,
      reason: 'the stored copy cannot be read',
    })
    isBroken = false
    expect(await readReadiness({ app })).toMatchObject({ status: 200, ready: true })
  })

  test('HEAD - the status without a body', async () => {
    const seen = await request((await startHarness()).app).head('/readyz')
    expect([seen.status, seen.text]).toEqual([200, undefined])
  })
})

describe('/metrics', () => {
  const settings = { VITRINE_ADMIN_PASSWORD: 'p' }
  const headers = { Authorization: `Basic ${Buffer.from('admin:p').toString('base64')}` }

  test('answers - are counted one by one, and the page is stored by nobody', async () => {
    const harness = await startStocked(undefined, { settings })
    for (const path of [BOX, BOX, `${BOX}?limit=0`, '/nothing']) await visit(harness, path)
    const seen = await visit(harness, '/metrics', headers)
    expect(seen.headers['cache-control']).toBe('no-store')
    const counts = seen.text.split('\n').filter((line) => line.startsWith('vitrine_answers_total'))
    expect(counts.toSorted()).toEqual([
      'vitrine_answers_total{surface="fragment where-to-buy",state="shown",cache="hit"} 2',
      'vitrine_answers_total{surface="fragment",state="invalid",cache="none"} 1',
      'vitrine_answers_total{surface="page",state="invalid",cache="none"} 1',
    ])
  })

  test('health - is not counted as an answer', async () => {
    const harness = await startHarness({ settings })
    await visit(harness, '/healthz')
    await visit(harness, '/readyz')
    expect((await visit(harness, '/metrics', headers)).text).not.toMatch(/^vitrine_answers_total\{/m)
  })
})
