import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, extname, resolve } from 'node:path'
import { array, record, strictObject, string } from 'zod'
import { ConfigError } from '../errors.ts'
import { type ShopBook, createShopBook } from '../offers/shop-book.ts'
import { foldCase } from '../offers/text.ts'

/** A logo that this server serves. */
export type Logo = Readonly<{ contentType: string; body: Buffer }>

export type ShopFile = Readonly<{
  book: ShopBook
  /** By file name, which has a hash of the content. */
  logos: ReadonlyMap<string, Logo>
  /** Equal only for equal files and logos. */
  digest: string
}>

const MAX_NAME_CHARACTERS = 100
const MAX_TERMS_CHARACTERS = 80
const MAX_LOGO_BYTES = 100_000

/** A file is accepted only if its content is what its name says. */
const LOGO_FORMATS: Readonly<
  Record<string, Readonly<{ contentType: string; isValid(body: Buffer): boolean }>>
> = {
  '.svg': { contentType: 'image/svg+xml', isValid: (body) => /<svg[\s>]/.test(body.toString('utf8')) },
  '.png': {
    contentType: 'image/png',
    isValid: (body) => body.toString('latin1', 0, 8) === '\u0089PNG\r\n\u001A\n',
  },
  '.webp': {
    contentType: 'image/webp',
    isValid: (body) => /^RIFF[^]{4}WEBP$/.test(body.toString('latin1', 0, 12)),
  },
}

const line = (maxCharacters: number) =>
  string()
    .trim()
    .min(1, 'expected a text')
    .max(maxCharacters, `expected at most ${maxCharacters} characters`)
    .regex(/^\P{Cc}*$/u, 'expected one line without control characters')

const shopsSchema = record(
  line(MAX_NAME_CHARACTERS),
  strictObject({
    name: line(MAX_NAME_CHARACTERS).optional(),
    aliases: array(line(MAX_NAME_CHARACTERS)).optional(),
    logo: string().optional(),
    terms: line(MAX_TERMS_CHARACTERS).optional(),
  }),
)

/** Read the file of `VITRINE_SHOPS_FILE` and its logos; without a path, a book without shops. @throws ConfigError that says what is wrong */
export function readShopFile(path: string | null): ShopFile {
  const logos = new Map<string, Logo>()
  if (path === null) return { book: createShopBook([]), logos, digest: '' }
  const text = readOrThrow(path, 'the file')
  const shops = parseShops(text.toString('utf8'))
  checkNames(shops)
  const entries = Object.entries(shops).map(([merchant, { name, aliases = [], logo, terms }]) => ({
    merchant,
    aliases,
    shop: {
      name: name ?? merchant,
      logoPath: logo === undefined ? null : addLogo(logos, resolve(dirname(path), logo), merchant),
      terms: terms ?? null,
    },
  }))
  const digest = hash('sha256', [text.toString('base64'), ...logos.keys()].join(' '))
  return { book: createShopBook(entries), logos, digest }
}

function parseShops(text: string) {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw toConfigError(`the file is not JSON: ${error instanceof Error ? error.message : ''}`)
  }
  const { data, error } = shopsSchema.safeParse(json)
  if (data !== undefined) return data
  const problems = error.issues.map(
    ({ path, message }) => `${path.map((part) => JSON.stringify(part)).join(' ')}: ${message}`,
  )
  throw toConfigError(`the file is not a list of shops; ${problems.slice(0, 5).join('; ')}`)
}

/** Two shops with one merchant name would be ambiguous. */
function checkNames(shops: ReturnType<typeof parseShops>): void {
  const owners = new Map<string, string>()
  for (const [merchant, { aliases = [] }] of Object.entries(shops)) {
    for (const name of new Set([merchant, ...aliases].map(foldCase))) {
      const owner = owners.get(name)
      if (owner !== undefined)
        throw toConfigError(
          `the name ${JSON.stringify(name)} belongs to two shops, "${owner}" and "${merchant}"`,
        )
      owners.set(name, merchant)
    }
  }
}

/** Read a logo and return its path below the public address. */
function addLogo(logos: Map<string, Logo>, path: string, merchant: string): string {
  const ending = extname(path).toLowerCase()
  const format = LOGO_FORMATS[ending]
  if (format === undefined)
    throw toConfigError(`the logo of "${merchant}" must be a .svg, .png or .webp file`)
  const body = readOrThrow(path, `the logo of "${merchant}"`)
  if (body.length > MAX_LOGO_BYTES)
    throw toConfigError(`the logo of "${merchant}" is larger than ${MAX_LOGO_BYTES / 1_000} kB`)
  if (!format.isValid(body)) throw toConfigError(`the logo of "${merchant}" is not a ${ending} file`)
  const fileName = `${hash('sha256', body).slice(0, 16)}${ending}`
  logos.set(fileName, { contentType: format.contentType, body })
  return `/logos/${fileName}`
}

function readOrThrow(path: string, what: string): Buffer {
  try {
    return readFileSync(path)
  } catch {
    throw toConfigError(`${what} cannot be read`)
  }
}

function toConfigError(problem: string): ConfigError {
  return new ConfigError([`VITRINE_SHOPS_FILE: ${problem}`])
}
