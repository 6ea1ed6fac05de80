/** The lights of a studio: softboxes far away in front of a dome. */
import { cross, normalize } from './mesh.mjs'

/** Create a softbox in a direction. `width` and `height`: tangents of half the angles it covers. */
export function createSoftbox({ from, width, height, power }) {
  const c = normalize(from)
  const u = normalize(cross(Math.abs(c[1]) > 0.95 ? [1, 0, 0] : [0, 1, 0], c))
  return { c, u, v: cross(c, u), width, height, power, area: 4 * width * height }
}

/** Radiance of the studio in a direction. */
export function toSky({ dome, softboxes }, x, y, z, out) {
  const t = 0.5 + 0.5 * y
  for (let a = 0; a < 3; a++) out[a] = dome.low[a] + (dome.high[a] - dome.low[a]) * t * t
  for (const box of softboxes) {
    const depth = x * box.c[0] + y * box.c[1] + z * box.c[2]
    if (depth <= 0) continue
    const p = Math.abs((x * box.u[0] + y * box.u[1] + z * box.u[2]) / depth) / box.width
    const q = Math.abs((x * box.v[0] + y * box.v[1] + z * box.v[2]) / depth) / box.height
    if (p < 1 && q < 1) {
      const edge = Math.min(1, (1 - p) * 6) * Math.min(1, (1 - q) * 6)
      for (let a = 0; a < 3; a++) out[a] += box.power[a] * edge
    }
  }
  return out
}

/** Probability density, per solid angle, with which `sampleSoftbox` gives a direction. */
export function toSoftboxDensity(softboxes, x, y, z) {
  let density = 0
  for (const box of softboxes) {
    const depth = x * box.c[0] + y * box.c[1] + z * box.c[2]
    if (depth <= 0) continue
    const p = (x * box.u[0] + y * box.u[1] + z * box.u[2]) / depth
    const q = (x * box.v[0] + y * box.v[1] + z * box.v[2]) / depth
    if (Math.abs(p) < box.width && Math.abs(q) < box.height) density += (1 + p * p + q * q) ** 1.5 / box.area
  }
  return density / softboxes.length
}

export function sampleSoftbox(softboxes, r1, r2, out) {
  const scaled = r1 * softboxes.length
  const box = softboxes[Math.min(softboxes.length - 1, Math.floor(scaled))]
  const p = (2 * (scaled - Math.floor(scaled)) - 1) * box.width
  const q = (2 * r2 - 1) * box.height
  const length = Math.sqrt(1 + p * p + q * q)
  for (let a = 0; a < 3; a++) out[a] = (box.c[a] + p * box.u[a] + q * box.v[a]) / length
}
