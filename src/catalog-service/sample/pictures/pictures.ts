import { drawCasserole, drawEspresso, drawFryingPan, drawPendantLamp, drawTableLamp } from './draw-home.ts'
import { drawBoardGame, drawEReader, drawHeadphones } from './draw-leisure.ts'
import {
  drawBackpack,
  drawCrankset,
  drawPlanter,
  drawRunningShoe,
  drawSaddle,
  drawWateringCan,
} from './draw-outside.ts'
import { TONES, type Tone } from './tones.ts'

/** Draws one product on a field of 480 by 480; it stands at y = 372. */
type Draw = (tone: Tone) => string

const DRAWINGS = {
  headphones: drawHeadphones,
  espresso: drawEspresso,
  backpack: drawBackpack,
  'table-lamp': drawTableLamp,
  'pendant-lamp': drawPendantLamp,
  'running-shoe': drawRunningShoe,
  casserole: drawCasserole,
  'frying-pan': drawFryingPan,
  'e-reader': drawEReader,
  crankset: drawCrankset,
  saddle: drawSaddle,
  'board-game': drawBoardGame,
  'watering-can': drawWateringCan,
  planter: drawPlanter,
} as const satisfies Readonly<Record<string, Draw>>

/** What can be drawn. */
export type PictureKind = keyof typeof DRAWINGS

/** Names of all pictures: `headphones-1.svg` to `planter-6.svg`. */
export const PICTURE_NAMES: readonly string[] = Object.keys(DRAWINGS).flatMap((kind) =>
  TONES.map((_, index) => `${kind}-${index + 1}.svg`),
)

/** The SVG document of a name such as `headphones-3.svg`; `undefined` for any other name. */
export function findSamplePicture(name: string): string | undefined {
  if (!PICTURE_NAMES.includes(name)) return undefined
  const dash = name.lastIndexOf('-')
  const tone = TONES[Number.parseInt(name.slice(dash + 1), 10) - 1]
  return tone === undefined ? undefined : frame(tone, DRAWINGS[name.slice(0, dash) as PictureKind](tone))
}

/** The common field: a calm background, a large disc, and the product's shadow on the ground. */
function frame(tone: Tone, drawing: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 480 480" width="480" height="480">
<rect width="480" height="480" fill="${tone.background}"/>
<circle cx="240" cy="232" r="190" fill="${tone.disc}"/>
<ellipse cx="240" cy="374" rx="150" ry="14" fill="${tone.shadow}"/>${drawing}
</svg>
`
}
