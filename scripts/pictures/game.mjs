/** Board games: one box, and the art that is printed on it. */
import sharp from 'sharp'
import { drawText, toTextWidth } from './letters.mjs'
import { join, mix, move, range, roundedBox, turn } from './mesh.mjs'
import { grain, noise } from './texture.mjs'

export const createGames = () => ({ 'board-game': boardGame })

/** Number in the picture's name, title in lines, maker, colours from the sky to the ground, motif, backdrop. */
const GAMES = {
  1: {
    lines: ['THE POTTERS', 'OF ARDENNA'],
    maker: 'TILEWICK',
    colours: ['#f2d7a6', '#e08a4f', '#7c2f22'],
    motif: 'pot',
  },
  2: {
    lines: ['MOSSGATE'],
    maker: 'TILEWICK',
    colours: ['#dfe6c0', '#7d9a68', '#1d3b2c'],
    motif: 'tree',
    backdrop: '#e5e7df',
  },
  3: {
    lines: ['HARBOUR', 'LEDGER'],
    maker: 'TILEWICK',
    colours: ['#f0e2c4', '#5b8aa8', '#16324f'],
    motif: 'ship',
  },
  4: {
    lines: ['DUNE', 'COURIERS'],
    maker: 'TILEWICK',
    colours: ['#fbe6ae', '#dfa347', '#7b4a1c'],
    motif: 'tent',
  },
  5: {
    lines: ['THE', 'PLUM COURT'],
    maker: 'TILEWICK',
    colours: ['#f0d3d6', '#9a5582', '#36193b'],
    motif: 'arch',
    backdrop: '#ece4e8',
  },
  6: {
    lines: ['NIGHT', 'FREIGHT'],
    maker: 'TILEWICK',
    colours: ['#41546c', '#26313f', '#0d1118'],
    motif: 'train',
    ink: '#f1dfae',
  },
  7: {
    lines: ['WALDWEGE'],
    maker: 'WÜRFELHAIN',
    colours: ['#f4e9c4', '#9cae5a', '#34492a'],
    motif: 'tree',
    seed: 5,
  },
  8: {
    lines: ['ZIEGEL', '& ZUNFT'],
    maker: 'WÜRFELHAIN',
    colours: ['#f6dcc2', '#c75f3e', '#57231d'],
    motif: 'arch',
    seed: 6,
  },
  9: {
    lines: ['BERNSTEIN', 'KÜSTE'],
    maker: 'WÜRFELHAIN',
    colours: ['#fdf0cf', '#e0ae5b', '#28566a'],
    motif: 'ship',
    seed: 7,
  },
  10: {
    lines: ['LIGHTHOUSE', 'LETTERS'],
    maker: 'WÜRFELHAIN',
    colours: ['#e9e3d2', '#7fa0b5', '#27405c'],
    motif: 'ship',
    seed: 8,
    backdrop: '#e6e8ea',
  },
  11: {
    lines: ['THE VIOLET', 'KILN'],
    maker: 'TILEWICK',
    colours: ['#ead4ea', '#8d62a6', '#392050'],
    motif: 'pot',
    seed: 4,
  },
  12: {
    lines: ['FIVE CLASSICS'],
    maker: 'WÜRFELHAIN',
    colours: ['#dcd8cf', '#7d7f80', '#2b2d31'],
    motif: 'tent',
    seed: 3,
  },
}

const DRAWINGS = {
  pot: 'M-14 0C-26-14-24-34-10-44L-12-54H12L10-44C24-34 26-14 14 0Z',
  tree: 'M0-92 24-40H10L28-12H4V0H-4V-12H-28L-10-40H-24Z',
  ship: 'M-40-16H40L28 0H-28ZM-3-20V-84L-34-24ZM4-20V-72L32-24Z',
  tent: 'M-46 0 0-58 46 0ZM-1-58V-74L16-67-1-61Z',
  arch: 'M-30 0V-58L0-88 30-58V0H14V-22A14 14 0 0 0-14-22V0Z',
  train:
    'M-60-6V-40H-14V-58H20V-40H30V-62H40V-40H52L58-6ZM-44 0A9 9 0 1 0-44-1ZM0 0A9 9 0 1 0 0-1ZM36 0A9 9 0 1 0 36-1Z',
}

function drawRidge(level, { colour, seed, motif }) {
  const toY = (x) =>
    560 +
    level * 92 +
    150 * (noise(x * 0.0042 + level * 3, seed * 9 + level) - 0.5) +
    30 * noise(x * 0.02, level, seed)
  const line = range(53, (i) => `${i * 24 - 24} ${toY(i * 24 - 24).toFixed(0)}`)
  const shapes = range(level > 0 && level < 4 ? 5 : 0, (i) => {
    const x = 90 + i * 200 + 120 * noise(i * 3.1, level * 5, seed)
    return `<path d="${DRAWINGS[motif]}" transform="translate(${x.toFixed(0)} ${(toY(x) + 6).toFixed(0)})scale(${(0.75 + 0.4 * level).toFixed(2)})"/>`
  })
  return `<g fill="${colour}"><path d="M-24 1000V${toY(-24).toFixed(0)}L${line.join('L')}V1000Z"/>${shapes.join('')}</g>`
}

const toHex = (colour) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))
const blend = (a, b, t) =>
  `#${toHex(a)
    .map((x, i) =>
      Math.round(mix(x, toHex(b)[i], t))
        .toString(16)
        .padStart(2, '0'),
    )
    .join('')}`

/** Draw the front (1000 wide) and the spine (250 wide) of a box. */
function drawArt({ lines, maker, colours: [sky, middle, ground], motif, seed = 1, ink }) {
  const letters = ink ?? ground
  const size = Math.min(100, 860 / Math.max(...lines.map(toTextWidth)))
  const title = lines.map((line, i) =>
    drawText(line, { x: 500, y: 110 + i * size * 2.05, size, weight: 0.24, colour: letters }),
  )
  const ridges = range(5, (level) =>
    drawRidge(level, { colour: blend(blend(sky, middle, 0.55), ground, level / 4), seed, motif }),
  )
  const spine = `<g transform="translate(1125 500)rotate(90)">${drawText(lines.join(' '), { x: 0, y: -34, size: Math.min(48, 700 / toTextWidth(lines.join(' '))), weight: 0.24, colour: sky === '#41546c' ? '#f1dfae' : sky })}</g>`
  const brand = drawText(maker, { x: 500, y: 905, size: 26, weight: 0.2, colour: ink ?? sky })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="1250" height="1000"><defs><linearGradient id="g" x1="0" y1="0" x2="0" y2="1"><stop offset="0" stop-color="${sky}"/><stop offset=".75" stop-color="${blend(sky, middle, 0.75)}"/></linearGradient></defs><path fill="url(#g)" d="M0 0H1250V1000H0Z"/><circle cx="${560 + seed * 30}" cy="590" r="165" fill="${blend(sky, ink ?? '#ffffff', 0.55)}"/>${ridges.join('')}<path fill="${ground}" d="M1000 0H1250V1000H1000Z"/>${title.join('')}${spine}${brand}</svg>`
}

async function renderArt(game) {
  const { data, info } = await sharp(Buffer.from(drawArt(game)))
    .resize(800, 640)
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true })
  return { data, width: info.width, height: info.height }
}

const BOX = { width: 2.2, height: 2.2, depth: 0.5 }

/** Where the art of a place on the box is. */
function paintPrint(surface) {
  const { p, n, uv } = surface
  const [ax, ay, az] = n.map(Math.abs)
  if (az >= ax && az >= ay) uv[0] = 0.8 * (p[0] / BOX.width + 0.5)
  else if (ax > ay) uv[0] = 0.8 + 0.2 * (0.5 - p[2] / BOX.depth)
  else uv[0] = 0.9
  uv[1] = ay > ax && ay > az ? 0.01 : 1 - p[1] / BOX.height
}

async function boardGame() {
  const box = move(roundedBox(BOX.width, BOX.height, BOX.depth, 0.022, 8), 0, BOX.height / 2, 0)
  const print = {
    albedo: [1, 1, 1],
    tint: 1,
    roughness: 0.42,
    f0: 0.045,
    paint: paintPrint,
    bump: { height: grain(0.007), depth: 0.0007, step: 0.003 },
  }
  const cube = (x, z, angle) => move(turn(roundedBox(0.17, 0.17, 0.17, 0.018, 4), 1, angle), x, 0.085, z)
  const counters = join(
    cube(0.98, 0.78, 20),
    cube(1.2, 0.66, 55),
    move(turn(cube(0, 0, 0), 1, 40), 1.09, 0.17, 0.72),
  )
  const pale = join(cube(0.7, 0.9, -15), cube(1.36, 0.92, 5))
  const variants = await Promise.all(
    Object.entries(GAMES).map(async ([number, game]) => [
      number,
      { art: await renderArt(game), backdrop: game.backdrop ?? '#ffffff' },
    ]),
  )
  return {
    parts: [
      { mesh: box, material: print },
      { mesh: counters, material: { albedo: [0.52, 0.12, 0.06], roughness: 0.45 } },
      { mesh: pale, material: { albedo: [0.62, 0.48, 0.3], roughness: 0.5 } },
    ],
    camera: { azimuth: 26, elevation: 9, distance: 11, fill: 0.86 },
    variants: Object.fromEntries(variants),
  }
}
