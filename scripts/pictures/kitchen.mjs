/** Cookware and the espresso machine. Lengths in decimetres. */
import {
  clamp,
  curve,
  fillet,
  join,
  lathe,
  mix,
  move,
  resize,
  roundedBox,
  superellipse,
  sweep,
  turn,
} from './mesh.mjs'
import { BLACK, CHROME, OAK, STEEL, enamel, toVariants } from './materials.mjs'
import { grain } from './texture.mjs'

export const createKitchen = () => ({ casserole, 'frying-pan': fryingPan, espresso })

function casserole() {
  const body = lathe(
    fillet([
      [0, 0.06],
      [0.86, 0.06, 0.1],
      [0.93, 0, 0.03],
      [1.06, 0.03, 0.1],
      [1.25, 0.34, 0.3],
      [1.285, 0.98, 0.04],
      [1.31, 1.0, 0.03],
      [1.31, 1.05, 0.03],
      [1.2, 1.05, 0.02],
      [1.18, 0.5, 0.3],
      [0, 0.2],
    ]),
    160,
  )
  const lid = lathe(
    fillet([
      [1.19, 1.03],
      [1.3, 1.06, 0.02],
      [1.325, 1.1, 0.03],
      [1.29, 1.14, 0.04],
      [1.16, 1.17, 0.1],
      [0.95, 1.26, 0.2],
      [0.5, 1.36, 0.3],
      [0.2, 1.385, 0.1],
      [0, 1.385],
    ]),
    160,
  )
  const knob = lathe(
    fillet([
      [0, 1.38],
      [0.17, 1.38, 0.02],
      [0.14, 1.42, 0.03],
      [0.1, 1.5, 0.06],
      [0.13, 1.55, 0.05],
      [0.25, 1.6, 0.04],
      [0.26, 1.66, 0.05],
      [0.18, 1.7, 0.08],
      [0, 1.71],
    ]),
    72,
  )
  const loop = curve([
    [1.2, 0.86, -0.42],
    [1.42, 0.87, -0.4],
    [1.55, 0.885, -0.24],
    [1.585, 0.89, 0],
    [1.55, 0.885, 0.24],
    [1.42, 0.87, 0.4],
    [1.2, 0.86, 0.42],
  ])
  const handle = sweep(loop, superellipse(0.065, 0.1, 2.6), { steps: 72, sides: 28 })
  const iron = { albedo: [0.03, 0.028, 0.027], roughness: 0.5 }
  const rim = lathe(
    [
      [1.2, 1.045],
      [1.3, 1.052],
      [1.3, 1.06],
      [1.2, 1.06],
    ],
    160,
  )
  return {
    parts: [
      { mesh: join(body, lid, handle, turn(handle, 1, 180)), material: enamel() },
      { mesh: rim, material: iron },
      { mesh: knob, material: STEEL },
    ],
    camera: { azimuth: 24, elevation: 17, distance: 9, fill: 0.84 },
    variants: toVariants(),
  }
}

function fryingPan() {
  const outside = lathe(
    fillet([
      [0, 0.02],
      [0.98, 0.02, 0.04],
      [1.06, 0.06, 0.06],
      [1.31, 0.58, 0.12],
      [1.38, 0.6, 0.02],
    ]),
    160,
  )
  const inside = lathe(
    fillet([
      [1.38, 0.6],
      [1.365, 0.615, 0.01],
      [1.32, 0.6, 0.03],
      [1.06, 0.1, 0.12],
      [0, 0.09],
    ]),
    160,
  )
  const path = curve([
    [1.24, 0.46, 0],
    [1.48, 0.6, 0],
    [1.75, 0.74, 0],
    [2.1, 0.83, 0],
    [2.5, 0.9, 0],
    [2.85, 0.96, 0],
  ])
  const grip = sweep(
    (t) => path(mix(0.33, 1, t)),
    (t, angle) => {
      const end = 1 - 0.55 * clamp((t - 0.94) / 0.06) ** 2 - 0.3 * clamp((0.05 - t) / 0.05) ** 2
      const width = mix(0.1, 0.15, t) * end
      return superellipse(width, mix(0.075, 0.09, t) * end, 2.4)(t, angle)
    },
    { steps: 90, sides: 32 },
  )
  const neck = sweep((t) => path(t * 0.4), superellipse(0.075, 0.035, 3), { steps: 40 })
  const rivet = (z) =>
    move(
      resize(
        lathe(
          fillet([
            [0, 1],
            [0.6, 0.9],
            [1, 0.3],
            [1, 0],
          ]),
        ),
        0.045,
      ),
      1.2,
      0.5,
      z,
    )
  const plate = turn(roundedBox(0.2, 0.03, 0.34, 0.014), 2, 52)
  return {
    parts: [
      { mesh: outside, material: enamel() },
      {
        mesh: inside,
        material: {
          albedo: [0.035, 0.035, 0.036],
          roughness: 0.34,
          f0: 0.045,
          bump: { height: grain(0.012), depth: 0.0012, step: 0.004 },
        },
      },
      { mesh: neck, material: STEEL },
      { mesh: join(rivet(0.08), rivet(-0.08)), material: STEEL },
      { mesh: move(plate, 1.265, 0.44, 0), material: STEEL },
      { mesh: grip, material: OAK },
    ],
    camera: { azimuth: 58, elevation: 24, distance: 9, fill: 0.88 },
    variants: toVariants({ 6: '#1d1e20' }),
  }
}

function espresso() {
  const shell = enamel({ roughness: 0.22 })
  const back = move(roundedBox(1.9, 3.0, 1.35, 0.14), 0, 1.62, -0.75)
  const head = move(roundedBox(1.9, 0.95, 2.3, 0.16), 0, 2.66, -0.25)
  const base = move(roundedBox(1.9, 0.36, 2.35, 0.12), 0, 0.24, -0.25)
  const tray = move(roundedBox(1.5, 0.06, 0.95, 0.025), 0, 0.43, 0.4)
  const slots = join(
    ...[-6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6].map((i) =>
      move(roundedBox(0.045, 0.02, 0.72, 0.009, 3), i * 0.1, 0.462, 0.4),
    ),
  )
  const splash = move(roundedBox(1.62, 1.72, 0.06, 0.028), 0, 1.32, -0.075)
  const collar = lathe(
    fillet([
      [0, 2.26],
      [0.36, 2.26, 0.02],
      [0.38, 2.02, 0.03],
      [0.3, 1.99, 0.02],
      [0, 1.99],
    ]),
    72,
  )
  const basket = lathe(
    fillet([
      [0, 2.0],
      [0.34, 2.0, 0.03],
      [0.34, 1.86, 0.05],
      [0.27, 1.76, 0.06],
      [0.1, 1.72, 0.03],
      [0.08, 1.64, 0.02],
      [0, 1.64],
    ]),
    72,
  )
  const spout = (x) =>
    sweep(
      curve([
        [0, 1.68, 0],
        [x * 0.6, 1.63, 0],
        [x, 1.52, 0],
      ]),
      0.05,
      { steps: 16, sides: 16, up: [0, 0, 1] },
    )
  const arm = sweep(
    curve([
      [0, 1.9, 0.3],
      [0, 1.89, 0.5],
      [0, 1.87, 0.62],
    ]),
    0.055,
    { steps: 12, sides: 20 },
  )
  const grip = sweep(
    curve([
      [0, 1.87, 0.6],
      [0, 1.85, 0.9],
      [0, 1.8, 1.35],
    ]),
    (t, angle) => {
      const r = (0.085 + 0.035 * Math.sin(t * 2.6)) * Math.sqrt(clamp(Math.min(t, 1 - t) * 14 + 0.1))
      return [r * Math.cos(angle), r * Math.sin(angle)]
    },
    { steps: 48, sides: 28 },
  )
  const place = (mesh) => move(mesh, -0.12, 0, 0.45)
  const wand = sweep(
    curve([
      [0.72, 2.3, 0.5],
      [0.74, 2.1, 0.56],
      [0.78, 1.5, 0.72],
      [0.8, 1.02, 0.84],
    ]),
    (t, a) => {
      const r = t > 0.88 ? 0.05 : 0.034
      return [r * Math.cos(a), r * Math.sin(a)]
    },
    { steps: 60, sides: 16, up: [1, 0, 0] },
  )
  const dial = (radius, depth) =>
    turn(
      lathe(
        fillet([
          [0, 0],
          [radius, 0],
          [radius, depth, depth * 0.35],
          [radius * 0.86, depth, depth * 0.2],
          [0, depth],
        ]),
        64,
      ),
      0,
      90,
    )
  const gauge = move(dial(0.26, 0.08), -0.5, 2.72, 0.9)
  const face = move(
    turn(
      lathe(
        [
          [0, 0],
          [0.205, 0],
        ],
        48,
      ),
      0,
      90,
    ),
    -0.5,
    2.72,
    0.985,
  )
  const needle = move(turn(roundedBox(0.02, 0.2, 0.01, 0.004, 2), 2, -35), -0.47, 2.76, 0.992)
  const knobs = join(move(dial(0.13, 0.14), 0.32, 2.72, 0.9), move(dial(0.13, 0.14), 0.68, 2.72, 0.9))
  const cup = lathe(
    fillet([
      [0, 0.47],
      [0.17, 0.47, 0.02],
      [0.26, 0.62, 0.08],
      [0.3, 0.86, 0.01],
      [0.275, 0.86, 0.01],
      [0.24, 0.66, 0.08],
      [0, 0.6],
    ]),
    72,
  )
  const ear = sweep(
    curve([
      [0.27, 0.8, 0],
      [0.4, 0.8, 0],
      [0.42, 0.7, 0],
      [0.36, 0.6, 0],
      [0.24, 0.58, 0],
    ]),
    superellipse(0.02, 0.035),
    { steps: 36, sides: 14, up: [0, 0, 1] },
  )
  const coffee = lathe(
    [
      [0, 0.79],
      [0.268, 0.79],
    ],
    48,
  )
  const rail = sweep(
    curve([
      [-0.85, 3.12, 0.75],
      [-0.85, 3.24, 0.75],
      [-0.8, 3.28, 0.75],
      [0.8, 3.28, 0.75],
      [0.85, 3.24, 0.75],
      [0.85, 3.12, 0.75],
    ]),
    0.022,
    { steps: 60, sides: 12, up: [0, 0, 1] },
  )
  const feet = join(
    ...[-0.75, 0.75].flatMap((x) =>
      [-1.2, 0.7].map((z) =>
        move(
          lathe(
            fillet([
              [0, 0],
              [0.12, 0],
              [0.12, 0.1],
              [0, 0.1],
            ]),
            32,
          ),
          x,
          0,
          z,
        ),
      ),
    ),
  )
  return {
    parts: [
      { mesh: join(back, head, base), material: shell },
      { mesh: join(tray, splash), material: { ...STEEL, roughness: 0.3 } },
      { mesh: join(slots, feet), material: BLACK },
      {
        mesh: join(
          place(collar),
          place(basket),
          place(spout(-0.14)),
          place(spout(0.14)),
          place(arm),
          wand,
          gauge,
          rail,
        ),
        material: CHROME,
      },
      { mesh: join(place(grip), knobs), material: { ...BLACK, roughness: 0.28 } },
      { mesh: face, material: { albedo: [0.82, 0.81, 0.78], roughness: 0.4 } },
      { mesh: needle, material: { albedo: [0.5, 0.04, 0.03], roughness: 0.4 } },
      {
        mesh: place(join(cup, turn(ear, 1, -20))),
        material: { albedo: [0.8, 0.79, 0.76], roughness: 0.08, f0: 0.05 },
      },
      { mesh: place(coffee), material: { albedo: [0.13, 0.06, 0.025], roughness: 0.15 } },
    ],
    camera: { azimuth: 28, elevation: 13, distance: 13, fill: 0.86 },
    variants: toVariants(),
  }
}
