/** Materials that several products share, and the colours of the products. */
import { mix } from './mesh.mjs'
import { grain, weave, wood } from './texture.mjs'

/** Colours of the sample products by the number in the names of their pictures. */
const TINTS = { 1: '#a65f47', 2: '#7f8f78', 3: '#45586e', 4: '#c4ab84', 5: '#5b3a50', 6: '#2a2b2e' }

/** Variants of a product: its tint, on white unless `backdrops` has a colour. */
export const toVariants = (tints = {}, backdrops = {}) =>
  Object.fromEntries(
    Object.keys(TINTS).map((number) => [
      number,
      { tint: tints[number] ?? TINTS[number], backdrop: backdrops[number] ?? '#ffffff' },
    ]),
  )

const WHITE = [1, 1, 1]
export const STEEL = { albedo: [0.62, 0.61, 0.59], metal: true, roughness: 0.22 }
export const CHROME = { albedo: [0.75, 0.75, 0.76], metal: true, roughness: 0.08 }
export const BRASS = { albedo: [0.78, 0.55, 0.26], metal: true, roughness: 0.24 }
export const BLACK = { albedo: [0.018, 0.018, 0.02], roughness: 0.35 }
export const RUBBER = { albedo: [0.025, 0.025, 0.027], roughness: 0.6 }

export const enamel = (more = {}) => ({
  albedo: WHITE,
  tint: 1,
  roughness: 0.09,
  f0: 0.05,
  bump: { height: grain(0.06), depth: 0.0007, step: 0.01 },
  ...more,
})

/** Mix two colours of a texture into the surface. */
export function paintMix(surface, from, to, t) {
  for (let a = 0; a < 3; a++) surface.albedo[a] = mix(from[a], to[a], t)
}

export const OAK = {
  albedo: WHITE,
  roughness: 0.42,
  paint: (surface) => {
    const [x, y, z] = surface.p
    paintMix(surface, [0.42, 0.25, 0.12], [0.2, 0.1, 0.04], wood(x * 0.8, y * 0.8, z * 0.8, 0, 16))
  },
}

export const LINEN = {
  albedo: [0.6, 0.51, 0.39],
  roughness: 0.95,
  sheen: 0.1,
  bump: { height: weave(38), depth: 0.006, step: 0.004 },
}

/** Woven textile in the colour of the product. */
export const TEXTILE = {
  albedo: WHITE,
  tint: 1,
  roughness: 0.9,
  f0: 0.02,
  sheen: 0.06,
  bump: { height: weave(45), depth: 0.006, step: 0.004 },
}
