import type { Readable } from 'node:stream'

/** A picture that is sent from its file. The file may have been replaced since it was found, so all data come with the stream. */
export type PictureStream = Readonly<{
  mediaType: string
  etag: string
  bodyBytes: number
  /** The caller must read or destroy it. */
  stream: Readable
}>

/** `open`: open the file; `undefined` when it was deleted. */
export type PictureFileBody = Readonly<{ bodyBytes: number; open(): Promise<PictureStream | undefined> }>

/** `standInSeconds`: how long clients may use a stand-in, 0: not at all; `null`: it is a picture. */
export type PictureResponse = Readonly<{
  body: Buffer | PictureFileBody
  mediaType: string
  etag: string | null
  standInSeconds: number | null
  cache: 'hit' | 'miss' | 'stale'
}>
