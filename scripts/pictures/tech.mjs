/** Headphones and e-readers. Lengths in decimetres. */
import {
  TAU,
  curve,
  deform,
  fillet,
  grid,
  join,
  lathe,
  mix,
  move,
  resize,
  superellipse,
  sweep,
  turn,
} from './mesh.mjs'
import { BLACK, STEEL, TEXTILE, enamel, toVariants } from './materials.mjs'
import { grain, leather, noise } from './texture.mjs'

export const createTech = () => ({ headphones, 'e-reader': eReader })

/** Stack rings with the shape of a superellipse along x: `[x, scale]`. */
function pebble(profile, width, height, exponent = 2.2) {
  const rows = profile.length - 1
  const ring = superellipse(width, height, exponent)
  return grid(
    96,
    rows,
    (u, v) => {
      const [x, s] = profile[Math.round(v * rows)]
      const [z, y] = ring(0, u * TAU)
      return [x, y * s, z * s]
    },
    { closed: true },
  )
}

function earCup() {
  const shell = pebble(
    fillet([
      [0, 1],
      [0.12, 1.01, 0.04],
      [0.24, 0.97, 0.08],
      [0.33, 0.84, 0.06],
      [0.35, 0.7, 0.02],
      [0.345, 0.66, 0.02],
      [0.35, 0.6, 0.02],
      [0.37, 0.3, 0.1],
      [0.375, 0],
    ]),
    0.56,
    0.7,
  )
  const seam = pebble(
    fillet([
      [-0.03, 0.95],
      [-0.03, 1.0, 0.01],
      [0.03, 1.0, 0.01],
      [0.03, 0.95],
    ]),
    0.555,
    0.695,
  )
  const ring = superellipse(0.42, 0.56, 2.2)
  const cushion = sweep(
    (t) => {
      const [z, y] = ring(0, t * TAU)
      return [-0.16, y, z]
    },
    superellipse(0.15, 0.155, 2.4),
    { steps: 120, sides: 36, up: [1, 0, 0], closed: true },
  )
  const inner = pebble(
    [
      [-0.1, 0.8],
      [-0.08, 0],
    ],
    0.5,
    0.62,
  )
  const place = (mesh) => move(turn(turn(mesh, 2, 5), 1, 6), 0.98, 0.74, 0)
  return { shell: place(shell), cushion: place(cushion), dark: place(join(inner, seam)) }
}

function headphones() {
  const { shell, cushion, dark } = earCup()
  const both = (mesh) =>
    join(
      mesh,
      deform(mesh, ([x, y, z]) => [-x, y, z]),
    )
  const arc = (radius, lift) => (t) => {
    const a = mix(-0.08, Math.PI + 0.08, t)
    return [radius * Math.cos(a), 1.72 + lift * Math.sin(a), 0]
  }
  const taper = (width, thick) => (t, angle) =>
    superellipse(thick, width * (0.62 + 0.38 * Math.sin(Math.PI * t) ** 0.7), 3)(t, angle)
  const band = sweep(arc(1.13, 1.12), taper(0.2, 0.045), { steps: 120, sides: 40, up: [0, 0, 1] })
  const pad = sweep(
    (t) => arc(1.075, 1.055)(mix(0.12, 0.88, t)),
    (t, a) => {
      const end = Math.min(1, Math.min(t, 1 - t) * 14 + 0.15)
      const puff = 1 + 0.07 * Math.sin(t * 60)
      return superellipse(0.06 * end * puff, 0.18 * (0.4 + 0.6 * end), 2.6)(t, a)
    },
    { steps: 160, sides: 32, up: [0, 0, 1] },
  )
  const slider = sweep(
    curve([
      [1.125, 1.9, 0],
      [1.16, 1.6, 0],
      [1.2, 1.42, 0],
    ]),
    superellipse(0.016, 0.075, 4),
    { steps: 24, sides: 24, up: [0, 0, 1] },
  )
  const fork = sweep(
    curve([
      [1.13, 0.74, 0.6],
      [1.19, 1.05, 0.6],
      [1.21, 1.36, 0.42],
      [1.2, 1.47, 0],
      [1.21, 1.36, -0.42],
      [1.19, 1.05, -0.6],
      [1.13, 0.74, -0.6],
    ]),
    superellipse(0.04, 0.028, 3),
    { steps: 90, sides: 20, up: [1, 0, 0] },
  )
  const pivot = (z) =>
    move(
      turn(
        resize(
          lathe(
            fillet([
              [0, 0.06],
              [0.07, 0.06, 0.02],
              [0.075, -0.06, 0.02],
              [0, -0.06],
            ]),
            32,
          ),
          1,
        ),
        0,
        90,
      ),
      1.13,
      0.74,
      z,
    )
  return {
    parts: [
      {
        mesh: both(shell),
        material: enamel({ roughness: 0.36, bump: { height: grain(0.012), depth: 0.0008, step: 0.003 } }),
      },
      { mesh: band, material: { ...TEXTILE, bump: { ...TEXTILE.bump, depth: 0.004 } } },
      { mesh: both(cushion), material: CUSHION },
      { mesh: pad, material: CUSHION },
      { mesh: both(dark), material: BLACK },
      {
        mesh: both(join(slider, fork, pivot(0.585), pivot(-0.585))),
        material: { ...STEEL, roughness: 0.25 },
      },
    ],
    camera: { azimuth: 34, elevation: 9, distance: 10, fill: 0.86 },
    variants: toVariants({}, { 4: '#eae5dc', 2: '#e4e6e1' }),
  }
}

const CUSHION = {
  albedo: [0.03, 0.029, 0.028],
  roughness: 0.42,
  bump: { height: leather(0.03), depth: 0.004, step: 0.006 },
}

/** Close a ring by strips between opposite points: they are faster to trace than a fan. */
function bridge(ring) {
  const rows = ring.length / 2 - 1
  return grid(4, rows, (u, v) => {
    const row = Math.round(v * rows)
    const [a, b] = [ring[row], ring[ring.length - 1 - row]]
    return a.map((x, axis) => mix(x, b[axis], u))
  })
}

/** Plate with round corners, its front at z = `depth` / 2. */
function slab(width, height, depth, { corner, bevel }) {
  const outline = (inset) => (u) => {
    const r = corner - inset
    const [w, h] = [width / 2 - corner, height / 2 - corner]
    const quarter = Math.floor(u * 4) % 4
    const a = u * TAU
    const sx = quarter === 0 || quarter === 3 ? 1 : -1
    const sy = quarter < 2 ? 1 : -1
    return [sx * w + r * Math.cos(a), sy * h + r * Math.sin(a)]
  }
  const rows = fillet(
    [
      [bevel, -depth / 2],
      [0, -depth / 2, bevel],
      [0, depth / 2, bevel],
      [bevel, depth / 2],
    ],
    5,
  )
  const side = grid(
    128,
    rows.length - 1,
    (u, v) => {
      const [inset, z] = rows[Math.round(v * (rows.length - 1))]
      return [...outline(inset)((u + 0.5 / 128) % 1), z]
    },
    { closed: true },
  )
  const front = bridge(side.points.slice(-128))
  const back = bridge(side.points.slice(0, 128))
  return { side, front, back }
}

const chance = (...seeds) => noise(...seeds.map((seed, i) => seed * 7.31 + i * 13.7))

/** Ink of a page of a novel, 0 to 1; marks stand for letters. `x` from 0 to 1, `y` from 0 (top) to 1.3. */
function toInk(x, y) {
  return y < 0.2 ? toOrnament(Math.abs(x - 0.5), Math.abs(y - 0.14)) : toText(x, y)
}

/** A rhombus between two rules heads the chapter. */
function toOrnament(x, y) {
  const isRule = y < 0.002 && x > 0.035 && x < 0.15
  return x + y < 0.018 || isRule ? 0.85 : 0
}

const LINE = 0.0455
const LETTER = 0.0205

function toText(x, y) {
  const row = Math.floor((y - 0.26) / LINE)
  const left = row % 7 === 0 ? 0.14 : 0.09
  const right = row % 7 === 6 ? 0.59 : 0.91
  if (row < 0 || row > 21 || x < left || x > right) return 0
  return toLetter((x - 0.09) / LETTER, ((y - 0.26) % LINE) / (LINE * 0.62), row)
}

/** Strokes of one letter: a stem, often a second one, and bars between them. */
function toLetter(column, y, row) {
  const index = Math.floor(column)
  const kind = chance(index, row)
  const isBlank = chance(index * 1.9 + 40, row * 3) < 0.3
  if (isBlank || y > 1 || y < (kind > 0.62 ? 0 : 0.3)) return 0
  return isStroke(column - index, y, kind) ? 0.9 : 0
}

const isBetween = (x, low, high) => x > low && x < high

function isStroke(x, y, kind) {
  const isStem = isBetween(x, 0.12, 0.3) || (kind > 0.35 && y > 0.3 && isBetween(x, 0.6, 0.78))
  const isBar = (isBetween(y, 0.3, 0.42) && kind > 0.3) || (y > 0.88 && kind < 0.7)
  return isStem || (isBar && isBetween(x, 0.12, 0.78))
}

const PAGE = { width: 1040, height: 1340 }

/** Print the page once: a lookup costs less than a letter. */
function printPage() {
  const { width, height } = PAGE
  return Float32Array.from({ length: width * height }, (_, i) =>
    toInk((i % width) / width, Math.floor(i / width) / width),
  )
}

function eReader() {
  const page = printPage()
  const [width, height] = [1.26, 1.68]
  const { side, front, back } = slab(width, height, 0.09, { corner: 0.11, bevel: 0.028 })
  const [sw, sh] = [1.04, 1.34]
  const screen = grid(1, 1, (u, v) => [(u - 0.5) * sw, (v - 0.5) * sh + 0.06, 0.0462])
  const paper = {
    albedo: [0.66, 0.65, 0.62],
    roughness: 0.5,
    f0: 0.03,
    paint: (surface) => {
      const [column, row] = [
        Math.floor(surface.uv[0] * PAGE.width),
        Math.floor((1 - surface.uv[1]) * PAGE.height),
      ]
      const ink = page[row * PAGE.width + column] ?? 0
      for (let a = 0; a < 3; a++) surface.albedo[a] *= 1 - 0.88 * ink
    },
  }
  const mark = move(
    turn(
      lathe(
        fillet([
          [0, 0.004],
          [0.05, 0.004],
          [0.054, 0],
        ]),
        48,
      ),
      0,
      -90,
    ),
    0,
    0.3,
    -0.046,
  )
  const standing = (mesh) => move(turn(turn(move(mesh, 0, height / 2, 0), 0, -7), 1, 14), 0.32, 0.01, 0.28)
  const behind = (mesh) => move(turn(turn(move(mesh, 0, height / 2, 0), 0, 5), 1, 158), -0.42, 0.01, -0.36)
  const shell = enamel({ roughness: 0.45, bump: { height: grain(0.008), depth: 0.0009, step: 0.003 } })
  const glass = { albedo: [0.022, 0.022, 0.024], roughness: 0.32 }
  return {
    parts: [
      { mesh: join(standing(side), standing(back), behind(side), behind(back)), material: shell },
      { mesh: join(standing(front), behind(front)), material: glass },
      { mesh: standing(screen), material: paper },
      { mesh: behind(mark), material: { ...STEEL, albedo: [0.3, 0.3, 0.3], roughness: 0.5 } },
    ],
    camera: { azimuth: 0, elevation: 7, distance: 9, fill: 0.84 },
    variants: toVariants({}, { 2: '#e6e7e2', 5: '#ece6e8' }),
  }
}
