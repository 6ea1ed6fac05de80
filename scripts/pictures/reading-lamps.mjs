/** A reading lamp, on white and in a room. Lengths in decimetres. */
import {
  curve,
  fillet,
  grid,
  join,
  lathe,
  mix,
  move,
  range,
  resize,
  roundedBox,
  sweep,
  turn,
} from './mesh.mjs'
import { litShade } from './home.mjs'
import { BRASS, enamel, paintMix } from './materials.mjs'
import { fractal, noise, wood } from './texture.mjs'

export const createReadingLamps = () => ({ square, tall, wide })

function lampParts() {
  const foot = lathe(
    fillet([
      [0, 0],
      [0.72, 0, 0.02],
      [0.74, 0.06, 0.03],
      [0.68, 0.12, 0.04],
      [0.12, 0.17, 0.05],
      [0.06, 0.28],
      [0, 0.28],
    ]),
    128,
  )
  const stem = sweep(
    curve([
      [0, 0.2, 0],
      [0, 1.2, 0],
      [0, 2.2, 0],
      [0.12, 2.9, 0],
      [0.52, 3.3, 0],
      [1.0, 3.3, 0],
      [1.28, 3.12, 0],
    ]),
    0.045,
    { steps: 140, sides: 24, up: [0, 0, 1] },
  )
  const joint = move(
    turn(
      lathe(
        fillet([
          [0, 0.1],
          [0.085, 0.1, 0.02],
          [0.085, -0.1, 0.02],
          [0, -0.1],
        ]),
        40,
      ),
      0,
      90,
    ),
    0,
    2.25,
    0,
  )
  const holder = move(
    turn(
      lathe(
        fillet([
          [0, 0.24],
          [0.06, 0.24, 0.02],
          [0.13, 0.1, 0.03],
          [0.14, -0.16],
          [0, -0.16],
        ]),
        48,
      ),
      2,
      12,
    ),
    1.32,
    2.98,
    0,
  )
  const tilt = (mesh) => move(turn(mesh, 2, 12), 1.36, 2.88, 0)
  const outside = tilt(
    lathe(
      range(33, (i) => [mix(0.34, 0.86, i / 32), -(i / 32) * 0.92]),
      128,
    ),
  )
  const top = tilt(
    lathe(
      [
        [0.34, 0],
        [0.1, 0.01],
      ],
      64,
    ),
  )
  const inside = resize(outside, 1, 1, 0.99)
  const bead = tilt(
    lathe(
      fillet([
        [0.845, -0.9],
        [0.875, -0.9],
        [0.875, -0.95],
        [0.845, -0.95],
      ]),
      128,
    ),
  )
  const bulb = tilt(
    move(
      lathe(
        range(17, (i) => [0.17 * Math.sin((i / 16) * Math.PI), 0.2 * Math.cos((i / 16) * Math.PI)]),
        32,
      ),
      0,
      -0.5,
      0,
    ),
  )
  const knob = move(
    turn(
      lathe(
        fillet([
          [0, 0.16],
          [0.05, 0.16, 0.02],
          [0.05, 0],
          [0, 0],
        ]),
        24,
      ),
      0,
      90,
    ),
    0,
    2.25,
    0.08,
  )
  return [
    { mesh: join(foot, stem, joint, holder, knob), material: { ...BRASS, roughness: 0.2 } },
    { mesh: join(outside, top, bead), material: litShade(1.85, 2.95, 1) },
    {
      mesh: move(inside, 0, -0.008, 0),
      material: { albedo: [0.8, 0.72, 0.6], roughness: 0.9, emission: [1.1, 0.8, 0.45] },
    },
    { mesh: bulb, material: { albedo: [0.9, 0.9, 0.9], emission: [2.2, 1.7, 1.1] } },
  ]
}

function square() {
  return {
    parts: lampParts(),
    camera: { azimuth: 16, elevation: 7, distance: 15, fill: 0.88 },
    variants: { 1: {} },
  }
}

const TABLE = {
  material: {
    albedo: [1, 1, 1],
    roughness: 0.38,
    f0: 0.04,
    paint: (surface) => {
      const [x, , z] = surface.p
      const plank = Math.floor((z + 40.4) / 1.15)
      const edge = Math.abs((((z + 40.4) / 1.15) % 1) - 0.5) > 0.492 ? 0.35 : 1
      const t = wood(x * 0.55 + plank * 7.3, plank * 3.1 + 1, z * 0.55, 0, 9)
      const tone = (0.85 + 0.3 * noise(plank * 5.7, 2)) * edge
      paintMix(surface, [0.36 * tone, 0.2 * tone, 0.1 * tone], [0.16 * tone, 0.08 * tone, 0.036 * tone], t)
      surface.alpha = 0.12 + 0.12 * t
    },
  },
}

const plaster = (albedo) => ({
  albedo,
  roughness: 0.95,
  bump: {
    height: (x, y, z) => fractal(x * 1.2, y * 1.2, z, 3) + 0.25 * fractal(x * 9, y * 9, z, 2),
    depth: 0.045,
    step: 0.01,
  },
  paint: (surface) => {
    const f = 0.9 + 0.2 * fractal(surface.p[0] * 0.6, surface.p[1] * 0.6, 3, 4)
    for (let a = 0; a < 3; a++) surface.albedo[a] *= f
  },
})
export const wall = (z, albedo) => ({
  mesh: grid(1, 1, (u, v) => [(u - 0.5) * 60, v * 30 - 1, z]),
  material: plaster(albedo),
  isSet: true,
})

/** Late light through a window from the left. */
const WINDOW = {
  dome: { low: [0.12, 0.11, 0.1], high: [0.24, 0.25, 0.28] },
  softboxes: [
    { from: [-1.1, 0.75, 0.8], width: 0.26, height: 0.4, power: [15, 13.4, 11] },
    { from: [1, 0.6, 0.9], width: 0.6, height: 0.6, power: [0.9, 0.95, 1.05] },
  ],
}

function room(camera, more = []) {
  const book = (y, angle, [w, d], colour) => [
    {
      mesh: move(turn(roundedBox(w, 0.2, d, 0.02, 3), 1, angle), -1.35, y, 0.2),
      material: { albedo: colour, roughness: 0.7 },
    },
    {
      mesh: move(turn(roundedBox(w - 0.03, 0.15, d + 0.012, 0.01, 3), 1, angle), -1.33, y, 0.21),
      material: { albedo: [0.72, 0.68, 0.58], roughness: 0.9 },
    },
  ]
  const vase = lathe(
    fillet([
      [0, 0.42],
      [0.26, 0.42, 0.04],
      [0.42, 0.75, 0.25],
      [0.3, 1.15, 0.25],
      [0.13, 1.38, 0.1],
      [0.17, 1.5, 0.01],
      [0.14, 1.5, 0.01],
      [0.1, 1.35],
      [0, 1.2],
    ]),
    96,
  )
  return {
    parts: [
      ...lampParts(),
      wall(-2.1, [0.56, 0.5, 0.43]),
      ...[
        ...book(0.1, 12, [1.5, 1.05], [0.13, 0.2, 0.22]),
        ...book(0.3, -4, [1.35, 0.95], [0.4, 0.13, 0.07]),
        ...more,
      ].map((part) => ({ ...part, isSet: true })),
      {
        mesh: move(vase, -1.4, 0, 0.15),
        material: enamel({ tint: 0, albedo: [0.62, 0.6, 0.55], roughness: 0.5 }),
        isSet: true,
      },
    ],
    floor: TABLE,
    studio: WINDOW,
    exposure: 0.5,
    samples: 20,
    camera,
    variants: { 1: {} },
  }
}

function tall() {
  return {
    aspect: 2 / 3,
    ...room({ azimuth: 10, elevation: 8, distance: 15, fill: 0.74, shift: [-0.09, 0] }),
  }
}

function wide() {
  const bowl = lathe(
    fillet([
      [0, 0],
      [0.4, 0, 0.03],
      [0.45, 0.08, 0.05],
      [0.95, 0.5, 0.3],
      [1.0, 0.62, 0.02],
      [0.96, 0.62, 0.02],
      [0.8, 0.35, 0.3],
      [0, 0.12],
    ]),
    96,
  )
  return {
    aspect: 2,
    ...room({ azimuth: 4, elevation: 8, distance: 15, fill: 0.84, shift: [0.1, 0.0] }, [
      {
        mesh: move(bowl, 4.1, 0, -0.2),
        material: enamel({ tint: 0, albedo: [0.1, 0.15, 0.19], roughness: 0.3 }),
      },
    ]),
  }
}
