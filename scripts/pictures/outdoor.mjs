/** Running shoe and backpack. Lengths in decimetres. */
import {
  TAU,
  add,
  clamp,
  curve,
  deform,
  displace,
  fan,
  grid,
  join,
  mix,
  move,
  range,
  ringPlate,
  roundedBox,
  smoothstep,
  spline,
  superellipse,
  sweep,
  turn,
  weld,
} from './mesh.mjs'
import { BLACK, RUBBER, TEXTILE, toVariants } from './materials.mjs'
import { fractal, grain, leather, noise, weave } from './texture.mjs'

export const createOutdoor = () => ({ 'running-shoe': runningShoe, backpack })

/** The upper of a shoe: half widths and heights along its length, from heel (0) to toe (1). */
const SHOE = {
  width: spline([
    [0, 0.3],
    [0.1, 0.36],
    [0.3, 0.37],
    [0.5, 0.4],
    [0.68, 0.47],
    [0.82, 0.46],
    [0.93, 0.36],
    [1, 0.16],
  ]),
  height: spline([
    [0, 1.02],
    [0.12, 1.0],
    [0.25, 0.98],
    [0.38, 1.04],
    [0.5, 0.86],
    [0.65, 0.62],
    [0.8, 0.47],
    [0.92, 0.37],
    [1, 0.26],
  ]),
  sole: spline([
    [0, 0.44],
    [0.15, 0.38],
    [0.4, 0.33],
    [0.65, 0.27],
    [0.85, 0.25],
    [1, 0.3],
  ]),
  skew: spline([
    [0, 0],
    [0.4, -0.02],
    [0.75, 0.03],
    [1, 0.07],
  ]),
}
const SHOE_LENGTH = 2.9
/** Point of the upper: `v` along the shoe, `s` from -1 (one side of the sole) over the instep to 1. */
function toUpper(v, s, inset = 0) {
  const end = Math.sqrt(clamp(Math.min(v * 30 + 0.35, (1 - v) * 16)))
  const w = (SHOE.width(v) - inset) * Math.min(1, end + 0.1)
  const base = SHOE.sole(v) - 0.06
  const h = (SHOE.height(v) - base + 0.3 - inset) * (0.4 + 0.6 * end)
  const a = s * 1.62
  const bulge = v < 0.45 ? 1.5 : mix(1.5, 1.95, smoothstep(0.45, 0.8, v))
  const x = Math.sign(a) * Math.abs(Math.sin(Math.min(1.5708, Math.abs(a)))) ** (bulge / 1.9) * w
  const y = base + (h - 0.3 + 0.18 * smoothstep(0, 0.4, v)) * Math.max(0, Math.cos(a)) ** (1 / bulge)
  return [x + SHOE.skew(v), y, (v - 0.5) * SHOE_LENGTH]
}

/** Where the opening for the foot begins on the upper, as `s`. */
const toOpening = (v) => 0.58 * Math.sqrt(clamp(1 - ((v - 0.19) / 0.215) ** 2)) * (v < 0.4 ? 1 : 0)

function shoeUpper(inset = 0) {
  const half = (sign) => grid(60, 140, (u, v) => toUpper(v, sign * mix(toOpening(v), 1, u), inset))
  return weld(join(half(1), half(-1)))
}

function runningShoe() {
  const upper = shoeUpper()
  const lining = shoeUpper(0.035)
  const rim = curve(
    range(48, (i) => {
      const a = (i / 48) * TAU
      const v = 0.19 + 0.213 * Math.cos(a)
      return toUpper(v, Math.sign(Math.sin(a)) * toOpening(v), 0.01)
    }),
    { closed: true },
  )
  const collar = sweep(rim, 0.05, { steps: 160, sides: 20, closed: true })
  const midsole = shoeSole()
  const outsole = deform(shoeSole(), ([x, y, z]) => [
    x * 0.985,
    y * 0.3 - 0.012 + 0.7 * toRise(z / SHOE_LENGTH + 0.5),
    z * 0.985,
  ])
  const tongue = grid(24, 40, (u, v) => {
    const [x, y, l] = toUpper(mix(0.72, 0.3, v), (u - 0.5) * 0.62)
    const lift = 0.03 + 0.09 * v ** 2
    return [x * (1 - 0.1 * v), y + lift * (1 - (2 * u - 1) ** 2 * 0.3), l - 0.02 * v ** 2]
  })
  const laces = join(
    ...range(6, (i) => {
      const v = 0.42 + i * 0.045
      const across = curve(
        range(9, (k) => {
          const s = mix(-0.3, 0.3, k / 8)
          const [x, y, z] = toUpper(v + 0.012 * Math.sin(k * 0.8 + i), s, -0.045)
          return [x, y + 0.02 * (1 - (k / 4 - 1) ** 2), z]
        }),
      )
      return sweep(across, superellipse(0.034, 0.016, 2.6), { steps: 48, sides: 16, up: [0, 1, 0] })
    }),
  )
  const loops = join(
    ...range(6, (i) =>
      join(
        ...[-1, 1].map((sign) =>
          sweep(
            curve([0.3, 0.36, 0.44].map((s) => toUpper(0.42 + i * 0.045, sign * s, -0.012))),
            superellipse(0.03, 0.014, 3),
            { steps: 16, sides: 12 },
          ),
        ),
      ),
    ),
  )
  const tab = sweep(
    curve([
      toUpper(0.0, 0.02, 0.02),
      add(toUpper(0.0, 0.0, -0.01), [0, 0.04, -0.03]),
      add(toUpper(0.02, 0, 0), [0, 0.07, -0.01]),
      toUpper(0.04, 0.1, 0.03),
    ]),
    superellipse(0.05, 0.014, 3),
    { steps: 30, sides: 16, up: [1, 0, 0] },
  )
  const knit = {
    ...TEXTILE,
    bump: {
      height: (x, y, z) => weave(34)(x, y * 1.1, z, [1, 0.1, 0.1]) + 0.6 * noise(x * 5, y * 5, z * 5),
      depth: 0.006,
      step: 0.004,
    },
    paint: (surface) => {
      const pattern = toShoePattern(surface)
      if (pattern === 'stripe') paintPlain(surface)
      else surface.albedo.fill({ overlay: 0.6, hole: 0.5, knit: 1 }[pattern])
    },
  }
  const foam = {
    albedo: [0.78, 0.77, 0.74],
    roughness: 0.7,
    f0: 0.03,
    bump: { height: grain(0.02), depth: 0.002, step: 0.005 },
  }
  return {
    parts: [
      { mesh: upper, material: knit },
      { mesh: lining, material: { ...BLACK, roughness: 0.9 } },
      { mesh: collar, material: { ...TEXTILE, albedo: [0.55, 0.55, 0.55] } },
      { mesh: tongue, material: { ...TEXTILE, albedo: [0.8, 0.8, 0.8] } },
      { mesh: join(loops, tab), material: { ...TEXTILE, albedo: [0.5, 0.5, 0.5] } },
      {
        mesh: laces,
        material: {
          albedo: [0.75, 0.74, 0.71],
          roughness: 0.9,
          bump: { height: weave(120), depth: 0.004, step: 0.002 },
        },
      },
      { mesh: midsole, material: foam },
      { mesh: outsole, material: RUBBER },
    ],
    camera: { azimuth: 76, elevation: 14, distance: 13, fill: 0.88 },
    variants: toVariants({}, { 3: '#e3e6ea', 4: '#ece6dc' }),
  }
}

function paintPlain(surface) {
  surface.tint = 0
  surface.alpha = 0.1
  for (let a = 0; a < 3; a++) surface.albedo[a] = [0.78, 0.77, 0.74][a]
}

const isSide = (n) => n[1] < 0.6 && Math.abs(n[0]) > 0.35
const isHole = (y, z) => Math.sin(z * 62) * Math.sin(y * 62 + z * 12) > 0.72

/** Which part of the upper a place belongs to. */
function toShoePattern({ p: [, y, z], n }) {
  const l = z / SHOE_LENGTH + 0.5
  const rise = y - 0.42 - 1.55 * l
  const isStripe = Math.min(Math.abs(rise + 0.465), Math.abs(rise + 0.5735)) < 0.035
  if (isStripe && l > 0.28 && l < 0.66) return 'stripe'
  const isToe = l > 0.86 && y < 0.9 * l - 0.433
  if (isToe || l < 0.2 - 0.1 * y) return 'overlay'
  return l > 0.5 && isSide(n) && isHole(y, z) ? 'hole' : 'knit'
}

const toRise = (v) => 0.16 * smoothstep(0.7, 1.05, v) + 0.05 * (1 - smoothstep(0, 0.12, v))

/** Sole with a flared edge, thicker at the heel, curved up at the toe. */
function shoeSole() {
  const toOutline = (u) => {
    const v = 0.5 - 0.5 * Math.cos(u * TAU)
    const w = SHOE.width(v) * Math.sqrt(clamp(Math.min(v * 9, (1 - v) * 5.5))) * 1.04
    return [Math.sign(Math.sin(u * TAU)) * w, toRise(v), (v - 0.5) * SHOE_LENGTH * 1.01, v]
  }
  const profile = spline([
    [0, 1.0],
    [0.12, 1.08],
    [0.35, 1.12],
    [0.65, 1.08],
    [0.9, 1.06],
    [1, 0.98],
  ])
  const side = grid(
    240,
    64,
    (u, level) => {
      const [x, y, z, v] = toOutline(u)
      const top = SHOE.sole(v) + 0.03
      const k = profile(level) / 1.02
      const cut = (at, depth) => depth * Math.exp(-(((level - at) / 0.035) ** 2))
      const groove =
        1 - cut(0.62 - 0.1 * Math.sin(v * 5.5), 0.035) - cut(0.3, 0.022) * smoothstep(0.2, 0.4, v)
      return [x * k * groove + SHOE.skew(v), mix(y, top, level), z * (1 + (k - 1) * 0.12)]
    },
    { closed: true },
  )
  const bottom = fan(side.points.slice(0, 240), [0, 0.02, 0])
  const lid = fan(side.points.slice(-240), [0, 0.3, 0])
  return join(side, bottom, lid)
}

/** A soft bag: a box with puffed sides and folds. */
function bag(width, height, depth, { radius, puff, folds = 0.02, divisions = 18 }) {
  const box = roundedBox(width, height, depth, radius, divisions)
  return displace(box, ([x, y, z]) => {
    const swell =
      puff *
      Math.cos((x / width) * 2.6) *
      Math.cos((y / height) * 2.6) *
      (Math.abs(z) > depth * 0.3 ? 1 : 0.3)
    const fold = fractal(x * 2.2 + 7, y * 3.1, z * 2.2, 3) - 0.5
    const crease = Math.abs(noise(x * 1.7 + y * 1.1, y * 2.6 - x, z * 2 + 4) - 0.5)
    return swell + folds * (fold * 2 + crease * 1.6)
  })
}

const strapSection = (width, thick) => superellipse(width, thick, 4)

function backpack() {
  const taper = (mesh) =>
    deform(mesh, ([x, y, z]) => {
      const k = 1 - 0.07 * smoothstep(0.2, 1.5, y)
      return [x * k, y, z * (1 - 0.16 * smoothstep(0.3, 1.5, y))]
    })
  const main = taper(bag(1.9, 2.85, 0.95, { radius: 0.36, puff: 0.05, folds: 0.03 }))
  const pocket = move(bag(1.6, 1.2, 0.42, { radius: 0.17, puff: 0.06, folds: 0.022 }), 0, -0.68, 0.5)
  const flap = move(bag(1.62, 0.3, 0.46, { radius: 0.1, puff: 0.01, folds: 0.012 }), 0, -0.1, 0.5)
  const sides = join(
    ...[-1, 1].map((s) =>
      move(bag(0.26, 0.95, 0.62, { radius: 0.11, puff: 0.02, folds: 0.03 }), s * 0.97, -0.86, 0.0),
    ),
  )
  const zip = curve([
    [-0.93, 0.25, 0.2],
    [-0.9, 0.85, 0.17],
    [-0.74, 1.2, 0.15],
    [-0.4, 1.345, 0.13],
    [0, 1.37, 0.13],
    [0.4, 1.345, 0.13],
    [0.74, 1.2, 0.15],
    [0.9, 0.85, 0.17],
    [0.93, 0.25, 0.2],
  ])
  const zipper = sweep(zip, superellipse(0.05, 0.035, 3), { steps: 160, sides: 16, up: [0, 0, 1] })
  const teeth = sweep(
    zip,
    (t, a) => {
      const r = 0.022 * (1 + 0.25 * Math.sign(Math.sin(t * 900)))
      return [r * 1.6 * Math.cos(a), r * 1.9 * Math.sin(a)]
    },
    { steps: 900, sides: 8, up: [0, 0, 1] },
  )
  const handle = sweep(
    curve([
      [-0.26, 1.33, -0.2],
      [-0.24, 1.56, -0.2],
      [-0.12, 1.68, -0.2],
      [0.12, 1.68, -0.2],
      [0.24, 1.56, -0.2],
      [0.26, 1.33, -0.2],
    ]),
    strapSection(0.03, 0.085),
    { steps: 60, sides: 20, up: [0, 0, 1] },
  )
  const shoulder = (s) =>
    sweep(
      curve([
        [s * 0.4, 1.3, -0.42],
        [s * 0.62, 1.42, -0.72],
        [s * 0.98, 0.9, -0.98],
        [s * 1.12, 0.1, -0.95],
        [s * 1.02, -0.7, -0.78],
        [s * 0.86, -1.15, -0.5],
      ]),
      strapSection(0.15, 0.05),
      { steps: 90, sides: 24, up: [0, 0, -1] },
    )
  const web = (x) =>
    sweep(
      curve([
        [x, 0.95, 0.455],
        [x, 0.5, 0.535],
        [x, 0.1, 0.62],
        [x, -0.02, 0.76],
        [x, -0.3, 0.79],
        [x, -0.7, 0.785],
      ]),
      strapSection(0.065, 0.016),
      { steps: 70, sides: 20, up: [0, 0, 1] },
    )
  const webs = join(web(-0.42), web(0.42))
  const buckles = join(...[-0.42, 0.42].map((x) => move(roundedBox(0.2, 0.24, 0.075, 0.03), x, -0.34, 0.815)))
  const patch = move(roundedBox(0.5, 0.26, 0.03, 0.012), 0, 0.62, 0.515)
  const stamp = move(
    turn(
      ringPlate(
        () => 0.052,
        () => 0.07,
        0.008,
        { bevel: 0.002, segments: 64 },
      ),
      0,
      90,
    ),
    0,
    0.62,
    0.533,
  )
  const pull = join(
    ...[
      [-0.3, 1.33, 0.2],
      [0.22, 1.34, 0.2],
    ].map(([x, y, z]) => move(turn(roundedBox(0.07, 0.22, 0.03, 0.014), 0, -12), x, y - 0.12, z + 0.02)),
  )
  const piping = sweep(
    curve([
      [-0.78, -1.2, 0.6],
      [-0.8, -0.68, 0.62],
      [-0.78, -0.12, 0.6],
    ]),
    0.018,
    { steps: 40, sides: 10, up: [1, 0, 0] },
  )
  const cloth = {
    ...TEXTILE,
    bump: { height: weave(32), depth: 0.0065, step: 0.004 },
    paint: (surface) => {
      const [x, y, z] = surface.p
      const f = 0.9 + 0.14 * noise(x * 30, y * 80, z * 30)
      for (let a = 0; a < 3; a++) surface.albedo[a] = f
    },
  }
  const dark = { ...cloth, paint: undefined, albedo: [0.58, 0.58, 0.58] }
  const webbing = {
    albedo: [0.05, 0.048, 0.046],
    roughness: 0.7,
    bump: { height: weave(40), depth: 0.006, step: 0.004 },
  }
  const hide = {
    albedo: [0.28, 0.125, 0.05],
    roughness: 0.45,
    bump: { height: leather(0.03), depth: 0.004, step: 0.006 },
  }
  const stand = (mesh) => move(mesh, 0, 1.43, 0)
  return {
    parts: [
      { mesh: stand(main), material: cloth },
      { mesh: stand(join(pocket, sides)), material: cloth },
      { mesh: stand(flap), material: dark },
      { mesh: stand(join(zipper, shoulder(-1), shoulder(1), handle, webs, piping)), material: webbing },
      { mesh: stand(join(teeth, buckles)), material: BLACK },
      { mesh: stand(patch), material: hide },
      { mesh: stand(join(pull)), material: hide },
      { mesh: stand(stamp), material: { albedo: [0.08, 0.035, 0.015], roughness: 0.5 } },
    ],
    camera: { azimuth: 27, elevation: 9, distance: 14, fill: 0.88 },
    variants: toVariants({}, { 1: '#e9e3dc', 4: '#e7e4dd' }),
  }
}
