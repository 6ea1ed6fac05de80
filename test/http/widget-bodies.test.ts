import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type BodyForm, WidgetBodies } from '../../src/http/widget-bodies.ts'
import { createSubSlot, fillSubs, toSubTemplate } from '../../src/lib/sub-template.ts'

const PLAIN: BodyForm = { sub: null, encoding: null }
const BROTLI: BodyForm = { sub: null, encoding: 'br' }

/** Bodies with a slot in each link. */
function makeLinks(linkCount = 20): WidgetBodies {
  const link = `<a href="https://shop.example/${createSubSlot('?sub=')}">Shop</a>`
  return new WidgetBodies(toSubTemplate(link.repeat(linkCount)))
}

function decode(body: string, { encoding }: BodyForm): string {
  const bytes = Buffer.from(body, 'latin1')
  if (encoding === null) return body
  return (encoding === 'br' ? brotliDecompressSync(bytes) : gunzipSync(bytes)).toString('latin1')
}

const anyForm = fc.record({
  sub: fc.constantFrom(null, 'a', 'b', 'c', 'd', 'e', 'placement-6'),
  encoding: fc.constantFrom(null, 'br' as const, 'gzip' as const),
})
/** Also texts that are compressed in the thread pool, and texts without a slot. */
const anyText = fc
  .tuple(fc.string({ unit: 'binary-ascii', maxLength: 50 }), fc.nat(3), fc.constantFrom(1, 1, 1, 2_000))
  .map(([text, slotCount, repeats]) =>
    `${text}${createSubSlot('?sub=', '&', 3)}`.repeat(slotCount).concat(text).repeat(repeats),
  )

describe('bodies of a widget', () => {
  test('any forms in any order, at once or in the thread pool - are the text with the id', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, fc.array(fc.tuple(anyForm, fc.boolean())), async (text, requests) => {
        const template = toSubTemplate(text)
        const bodies = new WidgetBodies(template)
        for (const [form, isNow] of requests) {
          const known = bodies.find(form) ?? (isNow ? bodies.makeNow(form) : undefined)
          const body = known ?? (await bodies.make(form))
          expect(decode(body, form)).toBe(fillSubs(template, form.sub))
          expect(bodies.byteCount()).toBeLessThan(
            template.text.length * 6 + template.slots.length * 100 + 10_000,
          )
        }
      }),
    )
  })

  test('a compressed body - takes the place of the text, which is made from it at once', async () => {
    const bodies = makeLinks()
    const text = bodies.find(PLAIN)
    const plainBytes = bodies.byteCount()
    expect(bodies.find(BROTLI)).toBeUndefined()
    const compressed = await bodies.make(BROTLI)
    expect([bodies.find(BROTLI), bodies.find(PLAIN), bodies.makeNow(PLAIN)]).toEqual([
      compressed,
      undefined,
      text,
    ])
    expect(bodies.byteCount()).toBeLessThan(plainBytes)
  })

  test('a compressed body with an id - is made once', () => {
    const bodies = makeLinks()
    const form = { sub: 'a', encoding: 'br' } as const
    const made = bodies.makeNow(form)
    expect(bodies.find(form)).toBe(made)
    expect(decode(made ?? '', form)).toContain('?sub=a')
  })

  test('many placements - the bodies of the last ones are kept', () => {
    const bodies = makeLinks()
    const forms = ['a', 'b', 'c', 'd', 'e'].map((sub) => ({ sub, encoding: 'gzip' }) as const)
    for (const form of forms) bodies.makeNow(form)
    expect(forms.map((form) => bodies.find(form) !== undefined)).toEqual([false, true, true, true, true])
  })

  test('a body for all clients, and a large one - are not compressed at once', () => {
    expect(makeLinks().makeNow(BROTLI)).toBeUndefined()
    const large = makeLinks(2_000)
    for (const sub of [null, 'a']) expect(large.makeNow({ sub, encoding: 'br' })).toBeUndefined()
  })

  test('an id without a slot - is the same compressed body', async () => {
    const bodies = new WidgetBodies({ text: 'x'.repeat(100), slots: [] })
    const made = await bodies.make({ sub: 'a', encoding: 'br' })
    expect(bodies.find(BROTLI)).toBe(made)
  })
})
