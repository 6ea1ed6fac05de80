import { type SubTemplate, fillSubs } from '../lib/sub-template.ts'
import { type Compression, type Encoding, compress, compressNow, expand, expandNow } from './response.ts'

/** What a response is made of besides its data: the id of the placement and the encoding. */
export type BodyForm = Readonly<{ sub: string | null; encoding: Encoding }>

/** A larger text is compressed and expanded in the thread pool, so that it delays no other request. */
const MAX_CHARACTERS_NOW = 32_768

/** Compressed bodies with ids of placements that are kept, the last ones. */
const MAX_WITH_ID = 4

/** Memory in addition to the bytes: of a widget, of each slot, and of each body. */
const WIDGET_BYTES = 300
const SLOT_BYTES = 60
const BODY_BYTES = 250

/**
 * The bodies of a widget, made from one text with slots for the id of the placement. Bodies are strings of bytes (latin1), which
 * Node sends with the headers in one write. They are kept as bytes outside of the heap, which would grow to twice their size.
 */
export class WidgetBodies {
  readonly #slots: SubTemplate['slots']
  readonly #characters: number
  /** `null` once a compressed body without an id is kept, from which it can be made. */
  #text: Buffer | null
  /** By encoding and id, in the order in which they were made. */
  #compressed: Map<string, Buffer> | undefined

  /** `template`: its text in bytes (latin1). */
  constructor({ text, slots }: SubTemplate) {
    this.#slots = slots
    this.#characters = text.length
    this.#text = toBytes(text)
  }

  /** Find a body that is kept. */
  find(form: BodyForm): string | undefined {
    if (form.encoding === null) return this.#text === null ? undefined : this.#fill(toText(this.#text), form)
    const body = this.#compressed?.get(this.#toKey(form, form.encoding))
    return body && toText(body)
  }

  /** Make a body at once, unless that takes long, or pays off only in the thread pool because all clients use it. */
  makeNow(form: BodyForm): string | undefined {
    if (this.#characters > MAX_CHARACTERS_NOW) return undefined
    const { encoding } = form
    if (encoding === null) return this.#fill(this.#readTextNow(), form)
    if (!this.#hasId(form)) return undefined
    const filled = Buffer.from(this.#fill(this.#readTextNow(), form), 'latin1')
    return this.#keep(form, encoding, compressNow(filled, encoding))
  }

  /** Make a body in the thread pool. */
  async make(form: BodyForm): Promise<string> {
    const { encoding } = form
    const filled = this.#fill(await this.#readText(), form)
    if (encoding === null) return filled
    return this.#keep(form, encoding, await compress(filled, encoding, this.#hasId(form)))
  }

  /** Memory, estimated. */
  byteCount(): number {
    let bytes = WIDGET_BYTES + this.#slots.length * SLOT_BYTES
    if (this.#text !== null) bytes += this.#text.length + BODY_BYTES
    for (const body of this.#compressed?.values() ?? []) bytes += body.length + BODY_BYTES
    return bytes
  }

  #keep(form: BodyForm, encoding: Compression, body: Buffer): string {
    const text = toText(body)
    const key = this.#toKey(form, encoding)
    const compressed = (this.#compressed ??= new Map())
    compressed.delete(key)
    compressed.set(key, toBytes(text))
    if (!this.#hasId(form)) this.#text = null
    const placements = [...compressed.keys()].filter((one) => one.includes(' '))
    for (const oldest of placements.slice(0, -MAX_WITH_ID)) compressed.delete(oldest)
    return text
  }

  #readTextNow(): string {
    if (this.#text !== null) return toText(this.#text)
    const { encoding, body } = this.#findSource()
    return toText(expandNow(body, encoding))
  }

  async #readText(): Promise<string> {
    if (this.#text !== null) return toText(this.#text)
    const { encoding, body } = this.#findSource()
    return toText(await expand(body, encoding))
  }

  #findSource(): Readonly<{ encoding: Compression; body: Buffer }> {
    for (const encoding of ['br', 'gzip'] as const) {
      const body = this.#compressed?.get(encoding)
      if (body !== undefined) return { encoding, body }
    }
    throw new TypeError('neither the text nor a compressed body is kept')
  }

  #fill(text: string, { sub }: BodyForm): string {
    return fillSubs({ text, slots: this.#slots }, sub)
  }

  /** Whether a body has the id of a placement, so that no other response has it. */
  #hasId({ sub }: BodyForm): boolean {
    return sub !== null && this.#slots.length > 0
  }

  #toKey(form: BodyForm, encoding: Compression): string {
    return this.#hasId(form) ? `${encoding} ${form.sub}` : encoding
  }
}

/** A buffer of its own: a part of a shared one would keep the whole in memory. */
function toBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(text.length)
  bytes.write(text, 'latin1')
  return bytes
}

function toText(bytes: Buffer): string {
  return bytes.toString('latin1')
}
