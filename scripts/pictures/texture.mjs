/** Procedural textures: functions of a position, without repeats. */
import { clamp, smoothstep } from './mesh.mjs'

function hash(x, y, z) {
  let h = (Math.imul(x, 374761393) + Math.imul(y, 668265263) + Math.imul(z, 1274126177)) | 0
  h = Math.imul(h ^ (h >>> 13), 1274126177)
  return ((h ^ (h >>> 16)) >>> 0) / 4294967296
}

/** Smooth noise from 0 to 1. */
export function noise(x, y, z = 0) {
  const ix = Math.floor(x)
  const iy = Math.floor(y)
  const iz = Math.floor(z)
  const u = fade(x - ix)
  const v = fade(y - iy)
  const near = toPlane(ix, iy, iz, u, v)
  return near + (toPlane(ix, iy, iz + 1, u, v) - near) * fade(z - iz)
}

function toPlane(ix, iy, iz, u, v) {
  const a = hash(ix, iy, iz)
  const b = hash(ix, iy + 1, iz)
  const low = a + (hash(ix + 1, iy, iz) - a) * u
  return low + (b + (hash(ix + 1, iy + 1, iz) - b) * u - low) * v
}

const fade = (t) => t * t * (3 - 2 * t)

/** Sum of noise at rising frequencies, from 0 to 1. */
export function fractal(x, y, z, octaves = 4) {
  let sum = 0
  let weight = 0.5
  for (let octave = 0; octave < octaves; octave++) {
    const f = 2 ** octave
    sum += weight * noise(x * f + octave * 17, y * f, z * f)
    weight /= 2
  }
  return sum / (1 - weight * 2)
}

/** Height of a plain weave with `count` threads per unit, seen along the axis on which the surface is flattest. */
export function weave(count) {
  return (x, y, z, n) => {
    const [ax, ay, az] = n.map(Math.abs)
    const [u, v] = ax > ay && ax > az ? [z, y] : ay > az ? [x, z] : [x, y]
    const [p, q] = [u * count, v * count]
    const over = (Math.floor(p) + Math.floor(q)) & 1
    const across = Math.sin((over ? p : q) * Math.PI)
    return 0.5 * Math.abs(across) + 0.3 * noise(p * 0.7, q * 0.7, 3)
  }
}

/** Fine pores and folds of leather. */
export const leather = (size) => (x, y, z) => {
  const f = 1 / size
  return (
    1.2 * Math.abs(noise(x * f, y * f, z * f) - 0.5) +
    0.5 * Math.abs(noise(x * f * 2.1, y * f * 2.1, z * f * 2.1) - 0.5)
  )
}

/** Grain of a cast or powder-coated surface. */
export const grain = (size) => (x, y, z) => noise(x / size, y / size, z / size)

/** Share of dark wood, 0 to 1: rings along an axis (0, 1 or 2). */
export function wood(x, y, z, along = 0, density = 14) {
  const point = [x, y, z]
  const [p, q] = [point[(along + 1) % 3], point[(along + 2) % 3]]
  const l = point[along]
  const bent = fractal(p * 1.3 + 5, l * 0.35, q * 1.3, 3)
  const ring = (p * 0.55 + q * 0.2 + bent * 0.6) * density
  const saw = ring - Math.floor(ring)
  const fibre = noise(p * 90, q * 90, l * 3)
  return clamp(0.55 * smoothstep(0.05, 0.95, saw) * (1 - smoothstep(0.9, 1, saw)) + 0.45 * fibre)
}
