import { randomBytes, hash as computeHash } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, unlink, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { type Clock, HOUR_MS, isWithin } from '../clock.ts'
import type { DatabaseAddress } from '../config/database-address.ts'
import { ConfigError } from '../errors.ts'
import type { Validators } from '../outgoing/response-headers.ts'
import type { ConversionRequest } from './convert-picture.ts'

/** A file is marked as used at most this often, so that reads rarely write. */
const USE_INTERVAL_MS: number = HOUR_MS

/** After writing this share of the bound, a process checks the folder. */
const CHECK_SHARE = 1 / 100

/** Share of the bound that remains when the oldest files were deleted. */
const TARGET_SHARE = 0.9

/** Longest first line of a file. */
const MAX_META_BYTES = 4_096

/** Files whose state is read at once. */
const STAT_BATCH = 64

const TEMPORARY_PREFIX = '.new-'

/** A temporary file this old belongs to a process that crashed. */
const TEMPORARY_MAX_AGE_MS: number = HOUR_MS

/** Data about a file, in its first line. */
export type FileMeta = Readonly<Record<string, string | number | null>>

/** What is known about a complete file without its body. */
export type PictureFile = Readonly<{ meta: FileMeta; bodyBytes: number }>

export type PictureFiles = Readonly<{
  /** Find a complete file and mark it as used; `undefined`: there is no such file. */
  find(name: string): Promise<PictureFile | undefined>
  /** Read a complete file; `undefined`: there is no such file. */
  read(name: string): Promise<Readonly<{ meta: FileMeta; body: Buffer }> | undefined>
  /**
   * Open a complete file to send it without holding all of it in memory; `undefined`: there is no such file. A write does not
   * change what is sent. The caller must read or destroy `stream`, which closes the file.
   */
  open(name: string): Promise<(PictureFile & Readonly<{ stream: Readable }>) | undefined>
  /** Store a file atomically, then delete the files used longest ago if the folder exceeds its bound. */
  write(name: string, meta: FileMeta, body: Buffer): Promise<void>
  /** Bytes of all files, as of the last check and the writes of this process since. */
  byteCount(): number
}>

export type PictureFilesOptions = Readonly<{ folder: string; maxBytes: number; clock: Clock }>

/** Return the folder of pictures: beside the stored copy, or in `data` if that is not a file. */
export function findPictureFolder(database: DatabaseAddress): string {
  const isFile = database.kind === 'sqlite' && database.path !== ':memory:'
  return join(isFile ? dirname(database.path) : 'data', 'pictures')
}

/**
 * Open the folder of stored pictures. Several processes may share it; each keeps it within its bound.
 * @throws ConfigError when files cannot be written there
 */
export async function openPictureFiles(options: PictureFilesOptions): Promise<PictureFiles> {
  const { folder, maxBytes, clock } = options
  await checkFolder(folder)
  let byteCount = 0
  let uncheckedBytes = 0
  let checking: Promise<void> | undefined
  const check = async (): Promise<void> => {
    uncheckedBytes = 0
    byteCount = await limitFolder(options)
  }
  const checkOnce = (): Promise<void> =>
    (checking ??= check().finally(() => {
      checking = undefined
    }))
  await checkOnce()
  return {
    find: (name) => withFile(join(folder, name), (file) => readMeta(file, clock)),
    read: (name) =>
      withFile(join(folder, name), async (file) => {
        const found = await readMeta(file, clock)
        const body = found && (await readBody(file, found))
        return found && body && { meta: found.meta, body }
      }),
    open: (name) => openFile(join(folder, name), clock),
    async write(name, meta, body) {
      const head = Buffer.from(`${JSON.stringify({ ...meta, bytes: body.length })}\n`)
      await writeInFolder(folder, name, { parts: [head, body], nowMs: clock.nowMs() })
      const bytes = head.length + body.length
      byteCount += bytes
      uncheckedBytes += bytes
      if (uncheckedBytes >= maxBytes * CHECK_SHARE) await checkOnce()
    },
    byteCount: () => byteCount,
  }
}

async function checkFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true })
    const probe = join(folder, createTemporaryName())
    await (await open(probe, 'wx')).close()
    await unlink(probe)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown reason'
    throw new ConfigError([
      `VITRINE_PICTURES: cannot write to the folder "${folder}" (${code}); give the server's user write access to it`,
    ])
  }
}

function createTemporaryName(): string {
  return `${TEMPORARY_PREFIX}${randomBytes(8).toString('hex')}`
}

/** Run `read` on a file. A file that is missing or cannot be read counts as missing. */
async function withFile<T>(
  path: string,
  read: (file: FileHandle) => Promise<T | undefined>,
): Promise<T | undefined> {
  const file = await open(path).catch(() => undefined)
  if (file === undefined) return undefined
  try {
    return await read(file)
  } catch {
    return undefined
  } finally {
    await file.close()
  }
}

type FoundMeta = Readonly<{ meta: FileMeta; headBytes: number; bodyBytes: number }>

async function openFile(path: string, clock: Clock): ReturnType<PictureFiles['open']> {
  const file = await open(path).catch(() => undefined)
  if (file === undefined) return undefined
  const found = await readMeta(file, clock).catch(() => undefined)
  if (found === undefined) {
    await file.close()
    return undefined
  }
  const { meta, headBytes, bodyBytes } = found
  return {
    meta,
    bodyBytes,
    stream: file.createReadStream({ start: headBytes, end: headBytes + bodyBytes - 1 }),
  }
}

/** Read the first line and mark the file as used; `undefined` when it is not complete, as after a power failure. */
async function readMeta(file: FileHandle, clock: Clock): Promise<FoundMeta | undefined> {
  const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(MAX_META_BYTES), 0, MAX_META_BYTES, 0)
  const end = buffer.subarray(0, bytesRead).indexOf('\n')
  if (end < 0) return undefined
  const meta = JSON.parse(buffer.toString('utf8', 0, end)) as FileMeta
  const { size, mtimeMs } = await file.stat()
  const headBytes = end + 1
  const bodyBytes = Number(meta['bytes'])
  if (bodyBytes === 0 || size !== headBytes + bodyBytes) return undefined
  const nowMs = clock.nowMs()
  if (!isWithin(mtimeMs, USE_INTERVAL_MS, nowMs)) await markUsed(file, nowMs)
  return { meta, headBytes, bodyBytes }
}

async function readBody(file: FileHandle, { headBytes, bodyBytes }: FoundMeta): Promise<Buffer | undefined> {
  const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(bodyBytes), 0, bodyBytes, headBytes)
  return bytesRead === bodyBytes ? buffer : undefined
}

/** The time of a file is that of its last use. */
async function markUsed(file: FileHandle, nowMs: number): Promise<void> {
  await file.utimes(new Date(nowMs), new Date(nowMs)).catch(() => {})
}

type NewFile = Readonly<{ parts: readonly Buffer[]; nowMs: number }>

/** Write a file. Create the folder again if it was deleted. */
async function writeInFolder(folder: string, name: string, file: NewFile): Promise<void> {
  try {
    await writeAtomically(folder, name, file)
  } catch (error) {
    if (!isMissing(error)) throw error
    await mkdir(folder, { recursive: true })
    await writeAtomically(folder, name, file)
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

async function writeAtomically(folder: string, name: string, { parts, nowMs }: NewFile): Promise<void> {
  const temporary = join(folder, createTemporaryName())
  try {
    const file = await open(temporary, 'wx')
    try {
      for (const part of parts) await file.writeFile(part)
    } finally {
      await file.close()
    }
    await utimes(temporary, new Date(nowMs), new Date(nowMs))
    await rename(temporary, join(folder, name))
  } catch (error) {
    await deleteFile(temporary)
    throw error
  }
}

async function deleteFile(path: string): Promise<void> {
  await rm(path, { force: true })
}

type StoredFile = Readonly<{ path: string; bytes: number; usedAtMs: number; isTemporary: boolean }>

/** Delete the files used longest ago if the folder exceeds its bound. Return the bytes that remain. */
async function limitFolder({ folder, maxBytes, clock }: PictureFilesOptions): Promise<number> {
  const files = await listFiles(folder)
  const nowMs = clock.nowMs()
  let bytes = 0
  const removable: StoredFile[] = []
  for (const file of files) {
    bytes += file.bytes
    // One from the future is in use, too: the clock was set back while it is written.
    const isInUse = file.isTemporary && nowMs - file.usedAtMs < TEMPORARY_MAX_AGE_MS
    if (!isInUse) removable.push(file)
  }
  const isOver = bytes > maxBytes
  // Files of crashed processes first.
  removable.sort((a, b) => Number(b.isTemporary) - Number(a.isTemporary) || a.usedAtMs - b.usedAtMs)
  for (const file of removable) {
    if (!file.isTemporary && !(isOver && bytes > maxBytes * TARGET_SHARE)) break
    await deleteFile(file.path)
    bytes -= file.bytes
  }
  return bytes
}

async function listFiles(folder: string): Promise<readonly StoredFile[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (isMissing(error)) return []
    throw error
  })
  const files: StoredFile[] = []
  for (let start = 0; start < names.length; start += STAT_BATCH) {
    const batch = names.slice(start, start + STAT_BATCH)
    const found = await Promise.all(batch.map((name) => readFileState(folder, name)))
    files.push(...found.flatMap((file) => file ?? []))
  }
  return files
}

/** Another process may have deleted the file. Folders are not ours. */
async function readFileState(folder: string, name: string): Promise<StoredFile | undefined> {
  const path = join(folder, name)
  const stats = await stat(path).catch(() => undefined)
  if (!stats?.isFile()) return undefined
  const isTemporary = name.startsWith(TEMPORARY_PREFIX)
  return { path, bytes: stats.size, usedAtMs: stats.mtimeMs, isTemporary }
}

/** A stored original, from the first line of its file. `digest`: of its bytes. */
export type Original = Validators & Readonly<{ digest: string; mediaType: string; fetchedAtMs: number }>

export function toOriginalName(hash: string): string {
  return `${hash}.original`
}

/** Part of the name and of the ETag of a converted file. */
export function toVersion(
  { width, format }: Pick<ConversionRequest, 'width' | 'format'>,
  recipe: string,
): string {
  return `${width}.${format}${recipe}`
}

export function toConvertedName(hash: string, digest: string, version: string): string {
  return `${hash}.${digest}.${version}`
}

export function toEtag(digest: string, version: string): string {
  return `"${digest}.${version}"`
}

const DIGEST_CHARACTERS = 16

export function toDigest(bytes: Buffer): string {
  return computeHash('sha256', bytes).slice(0, DIGEST_CHARACTERS)
}

/** Parse the data of a stored original; `undefined` when they are invalid. */
export function parseOriginal(meta: FileMeta): Original | undefined {
  const { digest, mediaType, etag = null, lastModified = null, fetchedAtMs } = meta
  const isValid =
    typeof digest === 'string' && typeof mediaType === 'string' && typeof fetchedAtMs === 'number'
  if (!isValid) return undefined
  return {
    digest,
    mediaType,
    etag: toValidator(etag),
    lastModified: toValidator(lastModified),
    fetchedAtMs,
  }
}

function toValidator(value: string | number | null): string | null {
  return typeof value === 'string' ? value : null
}
