import type { Request } from 'express'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ReadyAnswer } from '../../src/http/hot-cache.ts'
import { encodeBody } from '../../src/http/encodings.ts'
import {
  type AnswerMaker,
  type AnyView,
  type AnyWidget,
  getMade,
  getParameter,
  isMade,
  makeUnmade,
  parseQuery,
  renderView,
  toEmptyHeaders,
  toWidgetHeaders,
} from '../../src/routes/widget-answer.ts'
import { GTIN, startHarness, startStocked } from '../app/visit.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'

/** The parts of a request that an answer looks at. */
const toRequest = (originalUrl: string): Request => ({ originalUrl, headers: {} }) as unknown as Request

const getBox = ({ context }: Harness, query = ''): Promise<AnyWidget> =>
  context.widgets.getBox({
    channelId: CHANNEL_ID,
    gtin: GTIN,
    query: new URLSearchParams(query),
    surface: 'fragment',
  })
const getGrid = ({ context }: Harness, query = ''): Promise<AnyWidget> =>
  context.widgets.getGrid({ channelId: CHANNEL_ID, query: new URLSearchParams(query), surface: 'fragment' })

describe('part of a path', () => {
  test.each([
    [{ gtin: '123' }, '123'],
    [{ gtin: ['a', 'b'] }, 'a/b'],
    [{ gtin: ['', ''] }, '/'],
    [{ gtin: undefined }, ''],
    [{}, ''],
  ])('%j - is %j', (parameters, value) => {
    expect(getParameter(parameters, 'gtin')).toBe(value)
  })
})

describe('query of a request', () => {
  test.each([
    ['/a', []],
    ['/a?', []],
    ['/a?x=1&x=2', ['x=1', 'x=2']],
    ['/a?x=1?y=2', ['x=1?y=2']],
    ['/a?x[]=1&x[y]=2', ['x[]=1', 'x[y]=2']],
    ['/a?x', ['x=']],
    ['/a??x=1&y=2', ['?x=1', 'y=2']],
    ['/a???x=1', ['??x=1']],
  ])('%s - is %j', (url, pairs) => {
    expect([...parseQuery(toRequest(url))].map((pair) => pair.join('='))).toEqual(pairs)
  })

  test('any pairs - come back as they were sent', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 10 })
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text), { maxLength: 5 }), (pairs) => {
        const url = `/a/b?${new URLSearchParams(pairs).toString()}`
        expect([...parseQuery(toRequest(url))]).toEqual(pairs)
      }),
    )
  })
})

describe('headers of a widget', () => {
  test('box and grid that are shown - state, lifetime and no reason', async () => {
    const harness = await startStocked()
    harness.clock.advance(200_000)
    const box = toWidgetHeaders(harness.context, await getBox(harness), 'shown')
    expect(box).toEqual({
      'Content-Type': 'text/html; charset=utf-8',
      'Cache-Control': 'public, max-age=100, stale-while-revalidate=600, stale-if-error=86200',
      'Vitrine-State': 'shown',
      'Vitrine-Reason': undefined,
      'Cache-Status': 'vitrine; hit',
    })
    expect(toWidgetHeaders(harness.context, await getGrid(harness), 'shown')).toEqual({
      ...box,
      'Cache-Control': 'public, max-age=300, stale-while-revalidate=600, stale-if-error=86200',
    })
  })

  test('hidden - says why, and no price in it cuts what caches may do', async () => {
    const settings = { VITRINE_PRICE_MAX_AGE_SECONDS: '500' }
    const harness = await startStocked(undefined, { settings })
    const widget = await getBox(harness, 'merchant=nobody')
    expect(toWidgetHeaders(harness.context, widget, 'shown')['Cache-Control']).toBe(
      'public, max-age=300, stale-while-revalidate=500, stale-if-error=500',
    )
    expect(toWidgetHeaders(harness.context, widget, 'hidden')).toMatchObject({
      'Cache-Control': 'public, max-age=300, stale-while-revalidate=600, stale-if-error=86400',
      'Vitrine-State': 'hidden',
      'Vitrine-Reason': 'The option merchant=nobody hides the only offer of this product. Its shops: Kopje.',
    })
  })
})

describe('headers of an empty answer', () => {
  test('GTIN that is none - kept like a box, the error is named', async () => {
    const { context } = await startHarness()
    const details = { state: 'invalid', isCacheable: true, message: 'why', channelId: null } as const
    expect(toEmptyHeaders(context, details)).toEqual({
      'Content-Type': 'text/html; charset=utf-8',
      'Cache-Control': 'public, max-age=300, stale-while-revalidate=600, stale-if-error=86400',
      'Vitrine-State': 'invalid',
      'Vitrine-Error': 'why',
      'Cache-Status': 'vitrine; fwd=miss; detail=invalid',
    })
  })

  test('unavailable - stored by nobody, nothing is said', async () => {
    const { context } = await startHarness()
    const details = { state: 'unavailable', isCacheable: false, message: null, channelId: null } as const
    expect(toEmptyHeaders(context, details)).toMatchObject({
      'Cache-Control': 'no-store',
      'Vitrine-State': 'unavailable',
      'Vitrine-Error': undefined,
      'Cache-Status': 'vitrine; fwd=miss; detail=unavailable',
    })
  })
})

describe('fragment of a view', () => {
  test('box, grid and nothing - each by its own template', async () => {
    const harness = await startStocked()
    const [box, grid] = [await getBox(harness), await getGrid(harness)]
    expect(renderView(harness.context, 'where-to-buy', box.getView())).toContain('class="vitrine-merchant"')
    expect(renderView(harness.context, 'deals', grid.getView())).toContain('class="vitrine-deal"')
    expect(renderView(harness.context, 'deals', undefined)).toBe('')
    expect(renderView(harness.context, 'where-to-buy', undefined)).toBe('')
  })
})

/** Makes answers whose text is the title of the view, and counts how often it had to. */
function makeMaker(etag: string | null): AnswerMaker & { readonly renderCount: number } {
  let renderCount = 0
  return {
    toEtag: () => etag,
    render: (view: AnyView | undefined) => {
      renderCount += 1
      return encodeBody(view?.label ?? 'nothing')
    },
    get renderCount() {
      return renderCount
    },
  }
}

const ask = (
  { context }: Harness,
  maker: AnswerMaker,
  { widget }: { widget: AnyWidget },
): Promise<ReadyAnswer> => getMade(context, maker, widget)

describe('ready answer', () => {
  test('same widget twice - is made once', async () => {
    const harness = await startStocked()
    const maker = makeMaker('"a"')
    const first = await ask(harness, maker, { widget: await getBox(harness) })
    const second = await ask(harness, maker, { widget: await getBox(harness) })
    expect(second).toBe(first)
    expect(first).toMatchObject({ state: 'shown', etag: '"a"' })
    expect(first.body.identity.toString()).toBe('Where to buy Lumen Arc desk lamp')
    expect([maker.renderCount, harness.context.memories.answers.entryCount()]).toEqual([1, 1])
  })

  test('box, box with other options, grid - are kept apart', async () => {
    const harness = await startStocked()
    const maker = makeMaker('"a"')
    const widgets = [await getBox(harness), await getBox(harness, 'locale=de'), await getGrid(harness)]
    const answers: string[] = []
    for (const widget of widgets)
      answers.push((await ask(harness, maker, { widget })).body.identity.toString())
    expect(answers).toEqual([
      'Where to buy Lumen Arc desk lamp',
      'Preise im Vergleich: Lumen Arc desk lamp',
      'Deals',
    ])
  })

  test('for those who have it - says what it would be, and nothing is made or kept', async () => {
    const harness = await startStocked()
    const maker = makeMaker('"a"')
    const widget = await getBox(harness)
    const unmade = makeUnmade(maker, widget)
    expect([unmade.state, unmade.etag, unmade.body.identity.length]).toEqual(['shown', '"a"', 0])
    expect([maker.renderCount, isMade(harness.context, widget)]).toEqual([0, false])
    expect((await ask(harness, maker, { widget })).body.identity).toHaveLength(32)
    expect([maker.renderCount, isMade(harness.context, widget)]).toEqual([1, true])
  })

  test('nothing to show - is hidden, and kept', async () => {
    const harness = await startStocked()
    const maker = makeMaker(null)
    const widget = await getBox(harness, 'merchant=nobody')
    for (let count = 0; count < 2; count += 1)
      expect(await ask(harness, maker, { widget })).toMatchObject({ state: 'hidden', etag: null })
    expect(maker.renderCount).toBe(1)
  })

  test('kept answer - takes the place of all three of its bodies', async () => {
    const harness = await startStocked()
    const body = { identity: Buffer.alloc(10_000), gzip: Buffer.alloc(20_000), brotli: Buffer.alloc(40_000) }
    const maker = { ...makeMaker('"a"'), render: () => Promise.resolve(body) }
    await ask(harness, maker, { widget: await getBox(harness) })
    const overheadBytes = harness.context.memories.answers.byteCount() - 70_000
    expect(overheadBytes).toBeGreaterThanOrEqual(0)
    expect(overheadBytes).toBeLessThan(5_000)
  })
})
