import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { LRUCache } from 'lru-cache'

/** A body in the encodings that browsers take, made once when it is stored. */
export type EncodedBody = Readonly<{ identity: Buffer; gzip: Buffer; brotli: Buffer }>

/** An encoding by its name in headers; `null`: as it is. */
export type Encoding = 'br' | 'gzip' | null

/** Brotli and gzip levels at which ten kilobytes take a tenth of a millisecond. */
const BROTLI_LEVEL = 5
const GZIP_LEVEL = 6

/** Longest `Accept-Encoding` whose reading is kept. */
const MAX_KEPT_CHARACTERS = 100

const compressGzip = promisify(gzip)
const compressBrotli = promisify(brotliCompress)

/** Encodes a body in the thread pool. */
export async function encodeBody(text: string): Promise<EncodedBody> {
  const identity = Buffer.from(text)
  const parameters = {
    [constants.BROTLI_PARAM_QUALITY]: BROTLI_LEVEL,
    [constants.BROTLI_PARAM_SIZE_HINT]: identity.length,
  }
  const [zipped, brotli] = await Promise.all([
    compressGzip(identity, { level: GZIP_LEVEL }),
    compressBrotli(identity, { params: parameters }),
  ])
  return { identity, gzip: zipped, brotli }
}

/** What was chosen for the few forms that the header has in practice; others are read each time. */
const chosen = new LRUCache<string, 'br' | 'gzip' | 'identity'>({ max: 100 })

/** The best encoding that `Accept-Encoding` allows (RFC 9110, section 12.5.3); one with `q=0` is refused. */
export function chooseEncoding(acceptEncoding: string = ''): Encoding {
  const known = chosen.get(acceptEncoding)
  if (known !== undefined) return known === 'identity' ? null : known
  const encoding = readAccepted(acceptEncoding)
  if (acceptEncoding.length <= MAX_KEPT_CHARACTERS) chosen.set(acceptEncoding, encoding ?? 'identity')
  return encoding
}

function readAccepted(acceptEncoding: string): Encoding {
  const accepted = new Set<string>()
  for (const part of acceptEncoding.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim())
    if (!parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))) accepted.add(name)
  }
  if (accepted.has('br')) return 'br'
  return accepted.has('gzip') ? 'gzip' : null
}

/** The bytes of an encoding. */
export function pickBody(body: EncodedBody, encoding: Encoding): Buffer {
  if (encoding === 'br') return body.brotli
  return encoding === 'gzip' ? body.gzip : body.identity
}
