/** Parts of bicycles. Lengths in decimetres. */
import {
  TAU,
  clamp,
  curve,
  deform,
  fillet,
  grid,
  join,
  lathe,
  mix,
  move,
  range,
  resize,
  ringPlate,
  smoothstep,
  spline,
  superellipse,
  sweep,
  turn,
} from './mesh.mjs'
import { BLACK, CHROME, STEEL, toVariants } from './materials.mjs'
import { leather, noise } from './texture.mjs'

export const createBicycle = () => ({ crankset, saddle })

const ANODISED = {
  albedo: [1.5, 1.5, 1.5],
  tint: 1,
  metal: true,
  roughness: 0.3,
  bump: { height: (x, y, z) => noise(Math.hypot(x, z) * 90, y * 40, 2), depth: 0.0008, step: 0.003 },
}

function crankset() {
  const teeth = 42
  const outer = (a) => {
    const phase = ((a / TAU) * teeth) % 1
    const s = Math.abs(phase - 0.5) * 2
    return 0.965 + 0.072 * smoothstep(0.3, 1.02, s)
  }
  const inner = (a) => 0.85 - 0.045 * Math.max(0, Math.cos(a * 5)) ** 14
  const ring = ringPlate(inner, outer, 0.05, { bevel: 0.012, segments: 1600 })
  const groove = ringPlate(
    () => 0.87,
    () => 0.935,
    0.056,
    { bevel: 0.006, segments: 240 },
  )
  const spider = join(
    ...range(5, (i) => {
      const arm = sweep(
        curve([
          [0.18, 0.05, 0],
          [0.45, 0.055, 0],
          [0.7, 0.045, 0],
          [0.84, 0.035, 0],
        ]),
        (t, a) => superellipse(mix(0.1, 0.05, t ** 0.7), mix(0.06, 0.03, t), 3)(t, a),
        { steps: 30, sides: 28 },
      )
      return turn(arm, 1, -72 * i)
    }),
  )
  const bolts = join(
    ...range(5, (i) =>
      turn(
        move(
          lathe(
            fillet([
              [0, 0.075],
              [0.02, 0.075],
              [0.022, 0.06],
              [0.034, 0.06],
              [0.036, 0.078, 0.006],
              [0.055, 0.076, 0.01],
              [0.058, 0.05],
              [0.058, 0],
            ]),
            36,
          ),
          0.81,
          0,
          0,
        ),
        1,
        -72 * i,
      ),
    ),
  )
  const hub = lathe(
    fillet([
      [0, 0.16],
      [0.08, 0.16],
      [0.085, 0.14],
      [0.12, 0.14],
      [0.13, 0.175, 0.01],
      [0.19, 0.17, 0.03],
      [0.24, 0.08, 0.05],
      [0.27, 0.02],
      [0.27, -0.06],
      [0, -0.06],
    ]),
    72,
  )
  const armPath = curve([
    [0, 0.12, 0],
    [0.5, 0.14, 0],
    [1.2, 0.17, 0],
    [1.75, 0.19, 0],
  ])
  const arm = sweep(
    (t) => armPath(mix(-0.02, 1.0, t)),
    (t, a) => {
      const w =
        mix(0.165, 0.105, smoothstep(0.1, 0.9, t)) * Math.sqrt(clamp(1 - ((t - 0.5) / 0.5) ** 12 + 0.02))
      return superellipse(w, mix(0.085, 0.065, t), 3.4)(t, a)
    },
    { steps: 120, sides: 48 },
  )
  const eye = move(
    lathe(
      fillet([
        [0.055, 0.03],
        [0.075, 0.035, 0.005],
        [0.085, 0.02],
        [0.085, -0.1],
      ]),
      48,
    ),
    1.66,
    0.225,
    0,
  )
  const hole = move(
    lathe(
      [
        [0, 0],
        [0.06, 0],
      ],
      32,
    ),
    1.66,
    0.258,
    0,
  )
  const axle = lathe(
    fillet([
      [0, -0.06],
      [0.13, -0.06],
      [0.13, -0.62, 0.02],
      [0, -0.62],
    ]),
    48,
  )
  const alloy = { ...ANODISED, tint: 0, albedo: [0.085, 0.085, 0.09], roughness: 0.33 }
  const stand = (mesh) => move(turn(turn(turn(mesh, 1, 38), 0, 90), 1, 0), 0, 1.06, 0)
  return {
    parts: [
      { mesh: stand(ring), material: ANODISED },
      { mesh: stand(groove), material: { ...ANODISED, roughness: 0.5 } },
      { mesh: stand(join(spider, hub, arm)), material: alloy },
      { mesh: stand(join(bolts, eye)), material: { ...STEEL, roughness: 0.2 } },
      { mesh: stand(axle), material: STEEL },
      { mesh: stand(hole), material: BLACK },
    ],
    camera: { azimuth: 30, elevation: 10, distance: 11, fill: 0.86 },
    variants: toVariants({ 4: '#b8904a', 6: '#4a4b4f', 1: '#a8583a' }),
  }
}

function saddle() {
  const halfWidth = spline([
    [0, 0.5],
    [0.08, 0.68],
    [0.2, 0.72],
    [0.36, 0.56],
    [0.55, 0.27],
    [0.75, 0.2],
    [0.93, 0.17],
    [1, 0.1],
  ])
  const ridge = spline([
    [0, 0.22],
    [0.12, 0.16],
    [0.4, 0.03],
    [0.7, 0.06],
    [0.9, 0.05],
    [1, -0.03],
  ])
  const drop = spline([
    [0, 0.26],
    [0.2, 0.3],
    [0.5, 0.32],
    [0.8, 0.24],
    [1, 0.14],
  ])
  const toTop = (s, v, lift = 0) => {
    const end = Math.sqrt(clamp(Math.min(v * 4.5, (1 - v) * 20)))
    const angle = s * 1.78
    const w = halfWidth(v) * end * (1 + lift)
    const channel =
      0.045 * Math.exp(-((s / 0.13) ** 2)) * smoothstep(0.1, 0.3, v) * (1 - smoothstep(0.62, 0.85, v))
    const fall = drop(v) * (1 - Math.cos(angle)) * (0.3 + 0.7 * end)
    const tuck = 1 - 0.1 * Math.max(0, Math.abs(s) - 0.88)
    return [
      w * Math.sin(angle) * tuck,
      ridge(v) - fall - channel - (1 - end) * 0.1 + 1 + lift,
      2.7 * (v - 0.5),
    ]
  }
  const top = grid(72, 120, (u, v) => toTop((u - 0.5) * 2, v))
  const skirt = resize(top, 0.9, 1, 0.93)
  const thread = (t, a) => {
    const r = Math.abs(Math.sin(t * 190)) > 0.35 ? 0.0075 : 0.003
    return [r * 1.3 * Math.cos(a), r * Math.sin(a)]
  }
  const seam = sweep((t) => toTop(0.62, mix(0.05, 0.95, t), 0.003), thread, { steps: 480, sides: 8 })
  const rail = curve([
    [0.1, 0.8, 1.05],
    [0.14, 0.62, 0.85],
    [0.2, 0.5, 0.5],
    [0.22, 0.48, -0.2],
    [0.26, 0.56, -0.6],
    [0.34, 0.82, -1.1],
  ])
  const rails = sweep(rail, 0.036, { steps: 100, sides: 20 })
  const both = (mesh) =>
    join(
      mesh,
      deform(mesh, ([x, y, z]) => [-x, y, z]),
    )
  const lower = (mesh) => move(mesh, 0, -0.435, 0)
  const hide = {
    albedo: [1, 1, 1],
    tint: 1,
    roughness: 0.38,
    f0: 0.045,
    bump: { height: leather(0.035), depth: 0.0055, step: 0.006 },
  }
  return {
    parts: [
      { mesh: lower(top), material: hide },
      { mesh: lower(move(skirt, 0, -0.035, 0)), material: { ...BLACK, roughness: 0.6 } },
      { mesh: lower(both(seam)), material: { albedo: [0.62, 0.56, 0.46], roughness: 0.8 } },
      { mesh: lower(both(rails)), material: CHROME },
    ],
    camera: { azimuth: 48, elevation: 34, distance: 11, fill: 0.86 },
    variants: toVariants({ 1: '#8a4a24' }),
  }
}
