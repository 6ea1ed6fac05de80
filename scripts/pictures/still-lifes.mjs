/** Pictures with shapes and lights that are hard to place. Lengths in decimetres. */
import sharp from 'sharp'
import { drawText } from './letters.mjs'
import {
  curve,
  fillet,
  grid,
  join,
  lathe,
  mix,
  move,
  range,
  roundedBox,
  superellipse,
  sweep,
  turn,
} from './mesh.mjs'
import { pendantParts } from './home.mjs'
import { BLACK, STEEL, enamel, paintMix } from './materials.mjs'
import { grain, noise, wood } from './texture.mjs'
import { wall } from './reading-lamps.mjs'

export const createStillLifes = () => ({ bench, bottle, dark, cutout })

const TEAK = (along) => ({
  albedo: [1, 1, 1],
  roughness: 0.55,
  paint: (surface) => {
    const [x, y, z] = surface.p
    const board = Math.floor(y * 2.7) * 3 + Math.floor(z * 2.2)
    paintMix(
      surface,
      [0.4, 0.22, 0.11],
      [0.2, 0.1, 0.045],
      wood(x * 0.5 + board * 3.7, y * 0.6 + board, z * 0.6, along, 11),
    )
  },
})

function bench() {
  const length = 9.6
  const slat = (y, z, tilt) => move(turn(roundedBox(length, 0.13, 0.5, 0.035, 5), 0, tilt), 0, y, z)
  const seat = [-0.95, -0.38, 0.19, 0.76, 1.33].map((z) => slat(2.45 + 0.03 * z, z, -2))
  const back = [0.75, 1.35, 1.95].map((y) => slat(2.5 + y, -1.3 - 0.2 * y, -72))
  const legs = [-1, 1].flatMap((side) => {
    const x = side * 4.1
    return [
      move(roundedBox(0.36, 2.35, 0.36, 0.04, 5), x, 1.175, 1.25),
      move(turn(roundedBox(0.36, 4.9, 0.34, 0.04, 5), 0, -9), x, 2.42, -1.3),
      move(roundedBox(0.34, 0.34, 2.7, 0.04, 5), x, 2.18, 0.05),
      move(turn(roundedBox(0.5, 0.16, 2.95, 0.05, 5), 0, 1), x, 3.62, 0.15),
      move(roundedBox(0.3, 1.35, 0.3, 0.04, 5), x, 2.95, 1.25),
    ]
  })
  const rail = move(roundedBox(8, 0.3, 0.16, 0.03, 4), 0, 2.1, 1.25)
  return {
    aspect: 2,
    parts: [
      { mesh: join(...seat, ...back, rail), material: TEAK(0) },
      { mesh: join(...legs), material: TEAK(1) },
    ],
    camera: { azimuth: 24, elevation: 11, distance: 40, fill: 0.9 },
    variants: { 1: { backdrop: '#e9e9e7' } },
  }
}

/** The label of the bottle: a branch of olives and two words. */
async function renderLabel() {
  const leaves = range(
    9,
    (i) =>
      `<ellipse rx="34" ry="11" transform="translate(${300 + i * 50} ${150 - 26 * Math.sin(i * 0.4)})rotate(${i % 2 === 0 ? -48 : 40} 0 0)translate(26 0)"/>`,
  )
  const olives = range(
    4,
    (i) => `<ellipse cx="${350 + i * 100}" cy="${172 - 20 * Math.sin(i)}" rx="17" ry="22" fill="#3b3f1d"/>`,
  )
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="1000" height="430"><path fill="#e9e2cf" d="M0 0H1000V430H0Z"/><path fill="none" stroke="#4a5a2a" stroke-width="5" d="M22 22H978V408H22Z"/><g fill="#5f7a35">${leaves.join('')}</g>${olives.join('')}<path d="M270 152Q500 96 740 140" fill="none" stroke="#4a5a2a" stroke-width="6"/>${drawText('SORREL', { x: 500, y: 225, size: 62, weight: 0.17, colour: '#2d3518' })}${drawText('OLIVE OIL', { x: 500, y: 345, size: 22, weight: 0.16, colour: '#2d3518' })}</svg>`
  const { data, info } = await sharp(Buffer.from(svg))
    .resize(600, 258)
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true })
  return { data, width: info.width, height: info.height }
}

async function bottle() {
  const glass = lathe(
    fillet([
      [0, 0],
      [0.38, 0, 0.03],
      [0.42, 0.05, 0.05],
      [0.42, 1.95, 0.35],
      [0.16, 2.55, 0.25],
      [0.135, 3.2],
      [0.165, 3.22, 0.01],
      [0.165, 3.34, 0.02],
      [0.12, 3.35],
      [0, 3.35],
    ]),
    128,
  )
  const stopper = lathe(
    fillet([
      [0, 3.3],
      [0.17, 3.34, 0.01],
      [0.18, 3.36, 0.01],
      [0.18, 3.62, 0.03],
      [0, 3.63],
    ]),
    64,
  )
  const label = grid(60, 1, (u, v) => {
    const a = mix(2.5, -0.06, u)
    return [0.4225 * Math.cos(a), mix(0.45, 1.6, v), 0.4225 * Math.sin(a)]
  })
  const paper = { albedo: [1, 1, 1], tint: 1, roughness: 0.8, paint: ({ uv }) => (uv[1] = 1 - uv[1]) }
  return {
    aspect: 1 / 2,
    parts: [
      { mesh: glass, material: { albedo: [0.012, 0.022, 0.006], roughness: 0.05, f0: 0.05 } },
      { mesh: stopper, material: { ...BLACK, albedo: [0.35, 0.22, 0.1], roughness: 0.8 } },
      { mesh: label, material: paper },
    ],
    camera: { azimuth: 20, elevation: 6, distance: 13, fill: 0.9 },
    variants: { 1: { art: await renderLabel() } },
  }
}

/** A low-key picture: one strip of light from behind, and the lamp itself. */
function dark() {
  const smoked = { albedo: [0.03, 0.027, 0.025], roughness: 0.08, f0: 0.06 }
  return {
    parts: [
      ...pendantParts({
        shade: smoked,
        inside: { albedo: [0.3, 0.24, 0.17], roughness: 0.35, emission: [0.75, 0.42, 0.16] },
      }),
      wall(-4, [0.14, 0.135, 0.14]),
    ],
    floor: null,
    studio: {
      dome: { low: [0.006, 0.006, 0.008], high: [0.02, 0.022, 0.028] },
      softboxes: [
        { from: [1.2, 0.7, 0.1], width: 0.16, height: 0.8, power: [5, 5.2, 5.8] },
        { from: [-1.2, 0.9, 0.5], width: 0.1, height: 0.7, power: [1.9, 1.7, 1.4] },
      ],
    },
    exposure: 0.6,
    camera: { azimuth: 0, elevation: -8, distance: 14, fill: 0.74, shift: [0, 0.05] },
    variants: { 1: {} },
  }
}

function cutout() {
  const flask = lathe(
    fillet([
      [0, 0],
      [0.42, 0, 0.03],
      [0.46, 0.06, 0.05],
      [0.46, 2.1, 0.2],
      [0.38, 2.38, 0.08],
      [0.38, 2.44],
    ]),
    128,
  )
  const foot = lathe(
    fillet([
      [0.4, 0.02],
      [0.466, 0.02, 0.01],
      [0.466, 0.14, 0.01],
      [0.4, 0.14],
    ]),
    128,
  )
  const cup = lathe(
    fillet([
      [0.3, 2.4],
      [0.395, 2.42, 0.01],
      [0.41, 2.46, 0.02],
      [0.375, 3.02, 0.09],
      [0.3, 3.08, 0.03],
      [0, 3.08],
    ]),
    128,
  )
  const ring = lathe(
    fillet([
      [0.34, 2.38],
      [0.4, 2.38, 0.01],
      [0.4, 2.42, 0.01],
      [0.34, 2.42],
    ]),
    96,
  )
  const ear = sweep(
    curve([
      [0.38, 2.86, 0],
      [0.56, 2.9, 0],
      [0.63, 2.74, 0],
      [0.56, 2.58, 0],
      [0.38, 2.6, 0],
    ]),
    superellipse(0.03, 0.06, 3),
    { steps: 50, sides: 20, up: [0, 0, 1] },
  )
  return {
    aspect: 1 / 2,
    parts: [
      {
        mesh: flask,
        material: enamel({
          tint: 0,
          albedo: [0.035, 0.085, 0.075],
          roughness: 0.36,
          bump: { height: grain(0.014), depth: 0.0016, step: 0.004 },
        }),
      },
      {
        mesh: join(cup, ear, foot, ring),
        material: {
          ...STEEL,
          roughness: 0.26,
          bump: {
            height: (x, y, z) => noise(Math.atan2(x, z) * 1.5, y * 160, 1),
            depth: 0.0012,
            step: 0.003,
          },
        },
      },
    ],
    camera: { azimuth: 20, elevation: 7, distance: 13, fill: 0.96 },
    variants: { 1: { backdrop: null } },
  }
}
