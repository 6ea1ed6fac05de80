/** Lamps, planter and watering can. Lengths in decimetres. */
import {
  clamp,
  curve,
  deform,
  displace,
  fillet,
  grid,
  join,
  lathe,
  mix,
  move,
  range,
  resize,
  smoothstep,
  superellipse,
  sweep,
  turn,
} from './mesh.mjs'
import { BLACK, BRASS, LINEN, enamel, paintMix, toVariants } from './materials.mjs'
import { fractal, grain, noise } from './texture.mjs'

export const createHome = () => ({
  'table-lamp': tableLamp,
  'pendant-lamp': pendantLamp,
  planter,
  'watering-can': wateringCan,
})

/** A lit shade of linen: brightest around the bulb. */
export function litShade(low, high, power = 1) {
  return {
    ...LINEN,
    paint: (surface) => {
      const t = (surface.p[1] - low) / (high - low)
      const glow = power * (0.25 + 0.75 * Math.exp(-(((t - 0.42) / 0.34) ** 2)))
      const thread = 0.9 + 0.16 * noise(surface.p[0] * 60, surface.p[1] * 4, surface.p[2] * 60)
      surface.emission = [0.95 * glow * thread, 0.62 * glow * thread, 0.31 * glow * thread]
    },
  }
}

function tableLamp() {
  const base = lathe(
    fillet([
      [0, 0],
      [0.62, 0, 0.04],
      [0.66, 0.08, 0.05],
      [0.6, 0.16, 0.06],
      [0.72, 0.55, 0.3],
      [0.62, 1.15, 0.35],
      [0.26, 1.55, 0.25],
      [0.16, 1.85, 0.1],
      [0.17, 1.92, 0.02],
      [0, 1.92],
    ]),
    128,
  )
  const neck = lathe(
    fillet([
      [0, 1.9],
      [0.11, 1.9, 0.01],
      [0.12, 2.0, 0.01],
      [0.07, 2.03, 0.01],
      [0.07, 2.35],
      [0, 2.35],
    ]),
    48,
  )
  const outside = lathe(
    range(41, (_, t) => [mix(1.34, 0.92, (t * 41) / 40), mix(2.12, 3.62, (t * 41) / 40)]),
    160,
  )
  const inside = resize(outside, 0.985, 1, 0.985)
  const bands = join(
    ...[
      [1.345, 2.13],
      [0.925, 3.61],
    ].map(([r, y]) =>
      lathe(
        fillet([
          [r - 0.03, y - 0.035],
          [r + 0.006, y - 0.035],
          [r + 0.004, y + 0.035],
          [r - 0.03, y + 0.035],
        ]),
        160,
      ),
    ),
  )
  const cable = sweep(
    curve([
      [0.55, 0.06, -0.3],
      [0.9, 0.03, -0.5],
      [1.5, 0.03, -0.35],
      [2.1, 0.03, -0.8],
    ]),
    0.022,
    { steps: 60, sides: 10 },
  )
  return {
    parts: [
      {
        mesh: base,
        material: enamel({
          roughness: 0.25,
          bump: { height: (x, y, z) => noise(x * 3, y * 26, z * 3), depth: 0.006, step: 0.006 },
        }),
      },
      { mesh: neck, material: BRASS },
      { mesh: join(outside, bands), material: litShade(2.1, 3.65, 1.1) },
      { mesh: inside, material: { albedo: [0.8, 0.72, 0.6], roughness: 0.9, emission: [1.2, 0.9, 0.5] } },
      { mesh: cable, material: BLACK, isSet: true },
    ],
    camera: { azimuth: 10, elevation: 7, distance: 13, fill: 0.86 },
    variants: toVariants(),
  }
}

function dome(radius) {
  const outer = range(25, (i) => [
    radius * Math.sin((i / 24) * 1.5),
    1.02 * radius * Math.cos((i / 24) * 1.5),
  ])
  return { outer, inner: outer.map(([r, y]) => [r * 0.975, y * 0.975 - 0.004]) }
}

export function pendantParts({ radius = 1.5, shade = enamel({ roughness: 0.2 }), inside } = {}) {
  const { outer, inner } = dome(radius)
  const rim = lathe(fillet([inner.at(-1), [radius * 0.985, outer.at(-1)[1] - 0.02, 0.01], outer.at(-1)]), 160)
  const top = 1.02 * radius
  const cap = lathe(
    fillet([
      [0, top + 0.5],
      [0.06, top + 0.5, 0.02],
      [0.12, top + 0.42, 0.03],
      [0.17, top + 0.1, 0.05],
      [0.27, top, 0.03],
      [0.28, top - 0.03],
    ]),
    72,
  )
  const bulb = lathe(
    range(25, (i) => [0.3 * Math.sin((i / 24) * Math.PI), 0.52 - 0.33 * Math.cos((i / 24) * Math.PI)]),
    48,
  )
  const socket = lathe(
    fillet([
      [0, 1.4],
      [0.15, 1.4],
      [0.15, 0.78, 0.02],
      [0, 0.78],
    ]),
    32,
  )
  const cable = sweep((t) => [0, top + 0.45 + t * 9, 0], 0.028, { steps: 60, sides: 12, up: [0, 0, 1] })
  return [
    { mesh: join(lathe(outer, 160), rim), material: shade },
    {
      mesh: lathe(inner, 160),
      material: inside ?? { albedo: [0.85, 0.82, 0.76], roughness: 0.5, emission: [0.28, 0.22, 0.14] },
    },
    { mesh: cap, material: BRASS },
    { mesh: bulb, material: { albedo: [0.9, 0.9, 0.9], emission: [5, 4, 2.6] } },
    { mesh: socket, material: BLACK },
    { mesh: cable, material: { ...BLACK, roughness: 0.8 }, isSet: true },
  ]
}

function pendantLamp() {
  return {
    parts: pendantParts(),
    floor: null,
    camera: { azimuth: 0, elevation: -9, distance: 14, fill: 0.8, shift: [0, 0.06] },
    variants: toVariants({}, { 1: '#e9e2da', 2: '#dfe3dc', 4: '#efe8da' }),
  }
}

/** Upright leaves of a sansevieria, in a spiral. */
function leaves(count) {
  return range(count, (index) => {
    const angle = index * 2.4
    const height = 1.15 + 1.35 * noise(index * 3.7, 1) + 0.5 * (1 - index / count)
    const lean = 0.1 + 0.5 * (index / count)
    const width = 0.16 + 0.06 * noise(index, 9)
    const twist = noise(index * 1.7, 4) * 1.4 - 0.7
    const leaf = grid(10, 40, (u, v) => {
      const w = width * (1 - v ** 3) ** 0.9 * (0.62 + 0.38 * smoothstep(0, 0.35, v))
      const s = (u - 0.5) * 2
      const turned = angle + 1.57 + twist * v
      const bend = 0.06 + (0.05 * index) / count + lean * v ** 1.8 * 0.75
      const wave = 0.02 * Math.sin(v * 9 + index) * s
      const fold = 0.06 * (s * s - 0.4) + wave
      return [
        Math.cos(angle) * (0.12 + 0.34 * (index / count) + bend) +
          Math.cos(turned) * w * s +
          Math.cos(angle) * fold,
        v * height,
        Math.sin(angle) * (0.12 + 0.34 * (index / count) + bend) +
          Math.sin(turned) * w * s +
          Math.sin(angle) * fold,
      ]
    })
    return leaf
  })
}

const LEAF = {
  albedo: [1, 1, 1],
  roughness: 0.33,
  paint: (surface) => {
    const [u, v] = surface.uv
    const [x, y, z] = surface.p
    const edge = Math.abs(u - 0.5) > 0.43 ? 1 : 0
    const band = clamp(fractal(x * 3 + 9, y * 13 + 2 * Math.abs(u - 0.5), z * 3, 3) * 3.2 - 1.25)
    paintMix(surface, [0.02, 0.075, 0.022], [0.13, 0.22, 0.09], band)
    if (edge > 0) paintMix(surface, surface.albedo, [0.5, 0.47, 0.14], 0.75)
    surface.albedo[1] *= 0.9 + 0.2 * v
  },
}

function planter() {
  const pot = lathe(
    fillet([
      [0, 0],
      [0.72, 0, 0.05],
      [0.78, 0.06, 0.06],
      [1.0, 1.28, 0.02],
      [1.07, 1.3, 0.02],
      [1.1, 1.56, 0.04],
      [1.0, 1.58, 0.03],
      [0.94, 1.2],
      [0, 1.2],
    ]),
    160,
  )
  const soil = displace(
    grid(60, 60, (u, v) => [(u - 0.5) * 1.9, 1.4, (v - 0.5) * 1.9]),
    ([x, , z]) => -0.16 * fractal(x * 9, z * 9, 1, 3),
  )
  const round = deform(soil, ([x, y, z]) => {
    const r = Math.hypot(x, z)
    const k = r > 0.95 ? 0.95 / r : 1
    return [x * k, y, z * k]
  })
  const glaze = enamel({
    roughness: 0.3,
    bump: {
      height: (x, y, z) => noise(x * 2, y * 22, z * 2) + 0.3 * noise(x * 30, y * 30, z * 30),
      depth: 0.007,
      step: 0.006,
    },
    paint: (surface) => {
      const [x, y, z] = surface.p
      const mottle = 0.82 + 0.3 * fractal(x * 4, y * 6, z * 4, 4)
      for (let a = 0; a < 3; a++) surface.albedo[a] = mottle
    },
  })
  return {
    parts: [
      { mesh: pot, material: glaze },
      { mesh: round, material: { albedo: [0.045, 0.028, 0.017], roughness: 0.95 } },
      { mesh: move(join(...leaves(15)), 0, 1.25, 0), material: LEAF },
    ],
    camera: { azimuth: 15, elevation: 13, distance: 13, fill: 0.88 },
    variants: toVariants({}, { 1: '#e6e1da', 3: '#e4e5e6', 5: '#e9dfda' }),
  }
}

function wateringCan() {
  const body = lathe(
    fillet([
      [0, 0],
      [0.95, 0, 0.05],
      [1.0, 0.05, 0.04],
      [0.99, 0.12, 0.03],
      [0.86, 1.55, 0.3],
      [0.62, 1.72, 0.12],
      [0.5, 1.74, 0.03],
      [0.5, 1.86, 0.02],
      [0.47, 1.86, 0.02],
      [0.46, 1.7],
      [0.5, 1.2],
    ]),
    128,
  )
  const dark = lathe(
    [
      [0, 1.55],
      [0.6, 1.55],
    ],
    64,
  )
  const path = curve([
    [0.78, 0.32, 0],
    [1.25, 0.62, 0],
    [1.75, 1.25, 0],
    [2.2, 1.95, 0],
    [2.45, 2.25, 0],
    [2.72, 2.33, 0],
  ])
  const spout = sweep(
    path,
    (t, a) => {
      const r = mix(0.2, 0.075, Math.min(1, t * 1.25))
      return [r * Math.cos(a), r * Math.sin(a)]
    },
    { steps: 90, sides: 36, up: [0, 0, 1] },
  )
  const rose = move(
    turn(
      lathe(
        fillet([
          [0.08, 0],
          [0.1, 0.1, 0.03],
          [0.27, 0.3, 0.02],
          [0.28, 0.36, 0.03],
          [0.2, 0.4, 0.1],
          [0, 0.42],
        ]),
        72,
      ),
      2,
      -72,
    ),
    2.66,
    2.32,
    0,
  )
  const handle = sweep(
    curve([
      [-0.8, 1.5, 0],
      [-1.25, 1.75, 0],
      [-1.5, 1.5, 0],
      [-1.45, 0.95, 0],
      [-1.15, 0.5, 0],
      [-0.92, 0.36, 0],
    ]),
    superellipse(0.1, 0.035, 3),
    { steps: 80, sides: 24, up: [0, 0, 1] },
  )
  const bail = sweep(
    curve([
      [0.55, 1.72, 0],
      [0.5, 2.2, 0],
      [0.15, 2.5, 0],
      [-0.3, 2.42, 0],
      [-0.52, 2.0, 0],
      [-0.55, 1.7, 0],
    ]),
    superellipse(0.085, 0.03, 3),
    { steps: 80, sides: 24, up: [0, 0, 1] },
  )
  const band = (y, r) =>
    lathe(
      fillet([
        [r - 0.03, y - 0.04],
        [r, y - 0.04, 0.01],
        [r + 0.018, y, 0.02],
        [r, y + 0.04, 0.01],
        [r - 0.03, y + 0.04],
      ]),
      128,
    )
  const brace = sweep(
    curve([
      [0.86, 1.35, 0],
      [1.3, 1.3, 0],
      [1.72, 1.26, 0],
    ]),
    0.03,
    { steps: 20, sides: 12, up: [0, 0, 1] },
  )
  return {
    parts: [
      {
        mesh: join(body, spout, handle, bail, brace, band(0.2, 0.985), band(1.3, 0.885)),
        material: enamel({ roughness: 0.32, bump: { height: grain(0.02), depth: 0.0016, step: 0.005 } }),
      },
      { mesh: dark, material: BLACK },
      { mesh: rose, material: BRASS },
    ],
    camera: { azimuth: 14, elevation: 12, distance: 13, fill: 0.88 },
    variants: toVariants({}, { 2: '#e8e6df', 4: '#ece6d8' }),
  }
}
