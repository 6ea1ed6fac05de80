import * as fc from 'fast-check'

const SURROGATES = { first: 0xd8_00, count: 0x8_00 }

/** Texts of any Unicode characters. fast-check's `unit: 'binary'` builds a table of all of them, which takes seconds. */
export function anyText(constraints: Readonly<{ maxLength?: number }> = {}): fc.Arbitrary<string> {
  const { first, count } = SURROGATES
  const unit = fc
    .integer({ min: 0, max: 0x10_ff_ff - count })
    .map((index) => String.fromCodePoint(index < first ? index : index + count))
  return fc.string({ ...constraints, unit })
}
