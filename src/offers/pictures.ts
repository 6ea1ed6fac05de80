// oxlint-disable-next-line no-restricted-imports -- computes a hash, without I/O
import { hash } from 'node:crypto'

/** Widths of the pictures that the server offers, in pixels. */
export const PICTURE_WIDTHS = [96, 192, 320, 480, 640] as const
export type PictureWidth = (typeof PICTURE_WIDTHS)[number]

const HASH_CHARACTERS = 32

/** Return the name of a picture in `/pictures/{hash}/{width}`: the first 32 hex digits of SHA-256 of its address. */
export function toPictureHash(address: string): string {
  return hash('sha256', address).slice(0, HASH_CHARACTERS)
}
