import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, extname, resolve } from 'node:path'
import { type output, array, record, strictObject, string } from 'zod'
import { ConfigError } from '../errors.ts'
import { type ShopBook, type ShopEntry, createShopBook } from '../offers/shop-book.ts'
import { cleanText, foldCase } from '../offers/text.ts'
import { readJsonFile } from './json-file.ts'

/** A logo that this server serves. `isImmutable`: whether its file name has the hash of its content. */
export type Logo = Readonly<{ contentType: string; body: Buffer; isImmutable: boolean }>

/** What the shop file and its logos say, as JSON: the primary reads it and sends it to the workers. */
export type ShopData = Readonly<{
  entries: readonly ShopEntry[]
  logos: readonly Readonly<{ fileName: string; contentType: string; base64: string }>[]
  /** Equal only for equal files and logos. */
  digest: string
}>

export type ShopFile = Readonly<{
  data: ShopData
  book: ShopBook
  /** Find a logo by file name. A name with an old hash finds the current logo of the shop. */
  findLogo(fileName: string): Logo | undefined
}>

/** Path of the logos below the public address. */
const LOGO_FOLDER = '/logos'

const MAX_NAME_CHARACTERS = 100
const MAX_TERMS_CHARACTERS = 80
const MAX_LOGO_BYTES = 100_000

/** A file is accepted only if its content is what its name says. */
const LOGO_FORMATS: Readonly<
  Record<string, Readonly<{ contentType: string; isValid(body: Buffer): boolean }>>
> = {
  '.svg': {
    contentType: 'image/svg+xml',
    isValid: (body) =>
      /<svg\s[^>]*xmlns=["']http:\/\/www\.w3\.org\/2000\/svg["']/.test(body.toString('utf8')),
  },
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
    .max(maxCharacters, `expected at most ${maxCharacters} characters`)
    .regex(/^\P{Cc}*$/u, 'expected one line without control characters')
    .transform((text) => cleanText(text, maxCharacters))
    .refine((text) => text !== '', 'expected a text')

const shopsSchema = record(
  line(MAX_NAME_CHARACTERS),
  strictObject({
    name: line(MAX_NAME_CHARACTERS).optional(),
    aliases: array(line(MAX_NAME_CHARACTERS)).optional(),
    logo: string().optional(),
    terms: line(MAX_TERMS_CHARACTERS).optional(),
  }),
)

/**
 * Read the file of `VITRINE_SHOPS_FILE` and its logos; without a path, no shops.
 * @throws ConfigError that says what is wrong
 */
export function readShopData(path: string | null, logoFolder = LOGO_FOLDER): ShopData {
  if (path === null) return { entries: [], logos: [], digest: '' }
  const { text, data: shops } = readJsonFile(path, {
    setting: 'VITRINE_SHOPS_FILE',
    schema: shopsSchema,
    hint: 'fields of a shop: name, aliases, logo, terms',
  })
  checkNames(shops)
  const logos: ShopData['logos'][number][] = []
  const entries = Object.entries(shops).map(([merchant, { name, aliases = [], logo, terms }]) => {
    const file = logo === undefined ? null : readLogo(dirname(path), logo, merchant)
    if (file !== null) logos.push(file)
    return {
      merchant,
      aliases,
      shop: {
        name: name ?? merchant,
        logoPath: file === null ? null : `${logoFolder}/${file.fileName}`,
        terms: terms ?? null,
      },
    }
  })
  const digest = hash('sha256', [text, ...logos.map(({ fileName }) => fileName)].join('\0'))
  return { entries, logos, digest }
}

export function openShopFile(data: ShopData): ShopFile {
  const logos = new Map(
    data.logos.map(({ fileName, contentType, base64 }) => [
      fileName,
      { contentType, body: Buffer.from(base64, 'base64') },
    ]),
  )
  const currentNames = new Map([...logos.keys()].map((fileName) => [toShopPart(fileName), fileName]))
  return {
    data,
    book: createShopBook(data.entries),
    findLogo(fileName) {
      const currentName = logos.has(fileName) ? fileName : currentNames.get(toShopPart(fileName))
      const logo = currentName === undefined ? undefined : logos.get(currentName)
      return logo && { ...logo, isImmutable: currentName === fileName }
    },
  }
}

/** The part of a logo's file name before the hash of its content: the hash of the merchant's name. */
function toShopPart(fileName: string): string {
  return fileName.split('-', 1)[0] ?? ''
}

/** Two shops with one name would be ambiguous for readers and for the options `merchant` and `exclude`. */
function checkNames(shops: output<typeof shopsSchema>): void {
  const owners = new Map<string, string>()
  for (const [merchant, { name: shownName = merchant, aliases = [] }] of Object.entries(shops)) {
    for (const name of new Set([merchant, shownName, ...aliases].map(foldCase))) {
      const owner = owners.get(name)
      if (owner !== undefined)
        throw toConfigError(
          `the name ${JSON.stringify(name)} belongs to two shops, "${owner}" and "${merchant}"; list the names of one shop as its aliases`,
        )
      owners.set(name, merchant)
    }
  }
}

function readLogo(folder: string, path: string, merchant: string): ShopData['logos'][number] {
  const ending = extname(path).toLowerCase()
  const format = LOGO_FORMATS[ending]
  if (format === undefined)
    throw toConfigError(`the logo of "${merchant}" must be a .svg, .png or .webp file`)
  const body = readLogoFile(resolve(folder, path))
  if (body === undefined)
    throw toConfigError(`the logo "${path}" of "${merchant}", relative to the file, cannot be read`)
  if (body.length > MAX_LOGO_BYTES)
    throw toConfigError(`the logo of "${merchant}" is larger than ${MAX_LOGO_BYTES / 1_000} kB`)
  if (!format.isValid(body))
    throw toConfigError(
      `the logo of "${merchant}" does not contain ${ending.slice(1).toUpperCase()}${ending === '.svg' ? ' with its xmlns' : ''}`,
    )
  const parts = [foldCase(merchant), body].map((part) => hash('sha256', part).slice(0, 12))
  return {
    fileName: `${parts.join('-')}${ending}`,
    contentType: format.contentType,
    base64: body.toString('base64'),
  }
}

function readLogoFile(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}

function toConfigError(problem: string): ConfigError {
  return new ConfigError([`VITRINE_SHOPS_FILE: ${problem}`])
}
