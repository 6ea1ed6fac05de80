/**
 * `node scripts/pictures.mjs [name…]`: render the pictures of the sample products and of the gallery, or those with the given
 * names. Each takes about 20 seconds of processor time. The files are committed.
 */
import { fileURLToPath } from 'node:url'
import sharp from 'sharp'
import { createBicycle } from './pictures/bicycle.mjs'
import { denoise, develop, renderScene } from './pictures/film.mjs'
import { createGames } from './pictures/game.mjs'
import { createHome } from './pictures/home.mjs'
import { createKitchen } from './pictures/kitchen.mjs'
import { createOutdoor } from './pictures/outdoor.mjs'
import { createReadingLamps } from './pictures/reading-lamps.mjs'
import { createStillLifes } from './pictures/still-lifes.mjs'
import { createTech } from './pictures/tech.mjs'

const SAMPLE_FOLDER = new URL('../src/catalog-service/sample/pictures/', import.meta.url)
const GALLERY_FOLDER = new URL('../src/studio/gallery/pictures/', import.meta.url)
const SIZE_PX = 640
/** Paths per pixel: enough for the denoiser to tell noise from texture. */
const SAMPLES = 11

const PRODUCTS = {
  ...createBicycle(),
  ...createGames(),
  ...createHome(),
  ...createKitchen(),
  ...createOutdoor(),
  ...createTech(),
}
const STILL_LIFES = { ...createReadingLamps(), ...createStillLifes() }

/** Wide and tall pictures have more pixels on their longer side. */
function toSize(aspect) {
  const width = Math.round(SIZE_PX * (aspect > 1 ? 1.25 : aspect < 1 ? 1.2 * aspect : 1))
  return { width, height: Math.round(width / aspect) }
}

/** Render a scene once and write one file for each variant. */
async function writePictures(name, createScene, toFile) {
  const started = Date.now()
  const scene = await createScene()
  const film = denoise(
    renderScene(scene, { ...toSize(scene.aspect ?? 1), samples: scene.samples ?? SAMPLES }),
  )
  for (const [number, variant] of Object.entries(scene.variants)) {
    const { data, raw } = develop(film, { exposure: scene.exposure, ...variant })
    await sharp(data, { raw })
      .webp({ quality: 75, effort: 6 })
      .toFile(fileURLToPath(toFile(number)))
  }
  process.stdout.write(`${name}: ${Math.round((Date.now() - started) / 1000)} s\n`)
}

const names = process.argv.slice(2)
const isWanted = ([name]) => names.length === 0 || names.includes(name)
for (const [name, create] of Object.entries(PRODUCTS).filter(isWanted))
  await writePictures(name, create, (number) => new URL(`${name}-${number}.webp`, SAMPLE_FOLDER))
for (const [name, create] of Object.entries(STILL_LIFES).filter(isWanted))
  await writePictures(name, create, () => new URL(`${name}.webp`, GALLERY_FOLDER))
