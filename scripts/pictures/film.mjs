/** Render a scene to buffers of linear light, remove the noise, and develop them with a tint and a backdrop. */
import { add, clamp, cross, dot, mix, normalize, scale, smoothstep, subtract } from './mesh.mjs'
import { createSampler } from './sampler.mjs'
import { createSoftbox } from './studio.mjs'
import { createGeometry, tracePath } from './tracer.mjs'

/** Default studio: a large key from the upper left, a strip from the right, a weak top light, and a bright dome. */
const STUDIO = {
  dome: { low: [0.16, 0.16, 0.165], high: [0.3, 0.305, 0.315] },
  softboxes: [
    { from: [-0.95, 1.0, 0.8], width: 0.42, height: 0.55, power: [9.5, 9.3, 9] },
    { from: [1.3, 0.55, 0.25], width: 0.18, height: 0.8, power: [4.4, 4.45, 4.6] },
    { from: [0.1, 1.3, -0.75], width: 0.7, height: 0.25, power: [3.2, 3.2, 3.2] },
  ],
}

/** Samples of a pixel without an object: enough, because the shadows of the backdrop are smoothed. */
const BACKDROP_SAMPLES = 5

/** Trace a scene: `samples` paths per pixel. */
export function renderScene(scene, { width, height, samples }) {
  const studio = { ...STUDIO, ...scene.studio }
  const traced = {
    floor: scene.floor === undefined ? {} : scene.floor,
    dome: studio.dome,
    softboxes: studio.softboxes.map(createSoftbox),
    geometry: createGeometry(scene.parts),
  }
  const film = createFilm(width, height)
  const camera = createCamera(scene, width / height)
  const sampler = createSampler()
  const out = { plain: [0, 0, 0], tint: [0, 0, 0], albedo: [0, 0, 0], normal: [0, 0, 0], uv: [0, 0] }
  for (let pixel = 0; pixel < width * height; pixel++) {
    sampler.state.seed = pixel + 1
    let sample = 0
    while (sample < (film.cover[pixel] > 0 ? samples : Math.min(samples, BACKDROP_SAMPLES))) {
      sampler.state.index = sample++
      sampler.state.dimension = 0
      const x = (pixel % width) + sampler.next()
      const y = Math.floor(pixel / width) + sampler.next()
      tracePath(traced, camera(x / width, y / height), sampler, out)
      expose(film, pixel, out)
    }
    finishPixel(film, pixel, sample)
  }
  return film
}

function createFilm(width, height) {
  const count = width * height
  const colour = () => new Float32Array(count * 3)
  const grey = () => new Float32Array(count)
  const guides = { albedo: colour(), normal: colour(), depth: grey(), cover: grey(), noise: grey() }
  return {
    width,
    height,
    plain: colour(),
    tint: colour(),
    lit: grey(),
    all: grey(),
    squares: grey(),
    uv: colour(),
    ...guides,
  }
}

function expose(film, pixel, out) {
  let light = 0
  for (let a = 0; a < 3; a++) {
    film.plain[pixel * 3 + a] += out.plain[a]
    film.tint[pixel * 3 + a] += out.tint[a]
    film.albedo[pixel * 3 + a] += out.albedo[a]
    if (out.cover > 0) film.normal[pixel * 3 + a] += out.normal[a]
    light += out.plain[a] + out.tint[a] * 0.4
  }
  if (out.cover > 0) {
    film.depth[pixel] += out.depth
    film.uv[pixel * 3] += out.uv[0]
    film.uv[pixel * 3 + 1] += out.uv[1]
  }
  film.cover[pixel] += out.cover
  film.lit[pixel] += out.lit
  film.all[pixel] += out.all
  film.squares[pixel] += light * light
}

function finishPixel(film, pixel, samples) {
  let light = 0
  // Colours are those of the objects alone; `cover` says how much of the pixel they take.
  const count = Math.max(1, film.cover[pixel])
  for (let a = 0; a < 3; a++) {
    for (const buffer of [film.plain, film.tint, film.albedo, film.normal, film.uv])
      buffer[pixel * 3 + a] /= count
    light += film.plain[pixel * 3 + a] + film.tint[pixel * 3 + a] * 0.4
  }
  film.depth[pixel] /= count
  film.cover[pixel] /= samples
  film.lit[pixel] /= Math.max(1e-6, film.all[pixel])
  film.noise[pixel] = Math.sqrt(Math.max(0, film.squares[pixel] / count - light * light) / count)
}

/** Create a camera that looks from `azimuth` and `elevation` (degrees) and frames the objects: they fill `fill` of the picture. */
function createCamera({ camera, parts }, aspect) {
  const { azimuth = 0, elevation = 15, distance = 6, fill = 0.82, shift = [0, 0] } = camera
  const [a, e] = [(azimuth * Math.PI) / 180, (elevation * Math.PI) / 180]
  const back = [Math.sin(a) * Math.cos(e), Math.sin(e), Math.cos(a) * Math.cos(e)]
  const points = parts.filter((part) => !part.isSet).flatMap(({ mesh }) => mesh.points)
  const centre = scale(add(...[Math.min, Math.max].map((pick) => toCorner(points, pick))), 0.5)
  const origin = add(centre, scale(back, distance))
  const right = normalize(cross([0, 1, 0], back))
  const up = cross(back, right)
  const box = toViewBox(points, { origin, back, right, up })
  const size = Math.max(box.width, box.height * aspect) / fill
  const middle = [box.x + shift[0] * size, box.y + shift[1] * size]
  return (x, y) => {
    const p = middle[0] + (x - 0.5) * size
    const q = middle[1] - ((y - 0.5) * size) / aspect
    const direction = normalize(add(add(scale(right, p), scale(up, q)), scale(back, -1)))
    return { origin, direction }
  }
}

function toCorner(points, pick) {
  const corner = [...points[0]]
  for (const point of points) for (let a = 0; a < 3; a++) corner[a] = pick(corner[a], point[a])
  return corner
}

function toViewBox(points, { origin, back, right, up }) {
  let [left, top, low, high] = [Infinity, -Infinity, Infinity, -Infinity]
  for (const point of points) {
    const offset = subtract(point, origin)
    const depth = -dot(offset, back)
    const [x, y] = [dot(offset, right) / depth, dot(offset, up) / depth]
    left = Math.min(left, x)
    top = Math.max(top, x)
    low = Math.min(low, y)
    high = Math.max(high, y)
  }
  return { x: (left + top) / 2, y: (low + high) / 2, width: top - left, height: high - low }
}

const KERNEL = [0.0625, 0.25, 0.375, 0.25, 0.0625]

/** Remove noise by wavelets that stop at edges of shape, material and light (Dammertz et al.). Changes the film. */
export function denoise(film, passes = 4) {
  for (let pass = 0; pass < passes; pass++) filter(film, 1 << pass, 0.5 ** pass)
  for (let pass = 0; pass < 5; pass++) smoothShade(film, 1 << pass)
  return film
}

function filter(film, step, strictness) {
  const { width, height } = film
  const [plain, tint] = [new Float32Array(film.plain.length), new Float32Array(film.tint.length)]
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const pixel = y * width + x
      if (film.cover[pixel] > 0) filterPixel({ film, plain, tint, step, strictness }, x, y)
    }
  film.plain = plain
  film.tint = tint
}

function filterPixel({ film, plain, tint, step, strictness }, x, y) {
  const { width, height } = film
  const pixel = y * width + x
  let total = 0
  for (let j = -2; j <= 2; j++)
    for (let i = -2; i <= 2; i++) {
      const [nx, ny] = [x + i * step, y + j * step]
      if (nx < 0 || ny < 0 || nx >= width || ny >= height) continue
      const other = ny * width + nx
      const weight =
        KERNEL[i + 2] * KERNEL[j + 2] * film.cover[other] * toSimilarity(film, pixel, other, strictness)
      total += weight
      for (let a = 0; a < 3; a++) {
        plain[pixel * 3 + a] += weight * film.plain[other * 3 + a]
        tint[pixel * 3 + a] += weight * film.tint[other * 3 + a]
      }
    }
  for (let a = 0; a < 3; a++) {
    plain[pixel * 3 + a] /= total
    tint[pixel * 3 + a] /= total
  }
}

function toSimilarity({ plain, tint, albedo, normal, depth, noise }, pixel, other, strictness) {
  if (pixel === other) return 1
  let [light, paint, shape] = [0, 0, 0]
  for (let a = 0; a < 3; a++) {
    const [p, o] = [pixel * 3 + a, other * 3 + a]
    light += plain[p] - plain[o] + 0.4 * (tint[p] - tint[o])
    paint += (albedo[p] - albedo[o]) ** 2
    shape += (normal[p] - normal[o]) ** 2
  }
  const far = Math.abs(depth[pixel] - depth[other]) * 8
  const glow = Math.abs(light) / (3.5 * strictness * (noise[pixel] + noise[other]) + 1e-3)
  return Math.exp(-(paint * 400 + shape * 25 + far + glow))
}

function smoothShade(film, step) {
  const { width, height, lit, cover } = film
  const smooth = new Float32Array(lit.length)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      let [sum, total] = [0, 0]
      for (let j = -2; j <= 2; j++)
        for (let i = -2; i <= 2; i++) {
          const other = clamp(y + j * step, 0, height - 1) * width + clamp(x + i * step, 0, width - 1)
          const difference = Math.abs(lit[other] - lit[y * width + x])
          const weight = KERNEL[i + 2] * KERNEL[j + 2] * (1.001 - cover[other]) * Math.exp(-difference * 3)
          sum += weight * lit[other]
          total += weight
        }
      smooth[y * width + x] = total > 1e-9 ? sum / total : 1
    }
  film.lit = smooth
}

const toLinear = (hex) =>
  [1, 3, 5].map((at) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })

const toByte = (value) => {
  const encoded = value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055
  return Math.round(clamp(encoded) * 255)
}

/** The curve of a film: deep shadows, soft highlights (Narkowicz' fit). */
const toFilmic = (x) => clamp((x * (2.51 * x + 0.03)) / (x * (2.43 * x + 0.59) + 0.14))

/**
 * Develop a film to RGBA bytes. `backdrop`: a colour, or null for a transparent picture with only the object.
 * `exposure`: factor of the light. `art`: a picture `{ data, width, height }` that takes the place of the tint, by the surface's uv.
 */
export function develop(film, { tint = '#808080', backdrop = '#ffffff', exposure = 0.44, art } = {}) {
  const { width, height } = film
  const bytes = Buffer.alloc(width * height * 4)
  const paint = toLinear(tint)
  const place = backdrop === null ? placeNowhere : createPlacer(film, backdrop)
  for (let pixel = 0; pixel < width * height; pixel++) {
    if (art) readArt(art, film.uv, pixel, paint)
    const { cover, light, alpha } = place(film.cover[pixel], pixel)
    for (let a = 0; a < 3; a++) {
      const value = (film.plain[pixel * 3 + a] + film.tint[pixel * 3 + a] * paint[a]) * exposure
      bytes[pixel * 4 + a] = toByte(toFilmic(value) * cover + light[a])
    }
    bytes[pixel * 4 + 3] = Math.round(alpha * 255)
  }
  return { data: bytes, raw: { width, height, channels: 4 } }
}

/** Keep the full colour of an object at its edges, and make the rest transparent. */
const placeNowhere = (cover) => ({ cover: 1, light: [0, 0, 0], alpha: cover })

function createPlacer(film, backdrop) {
  const ground = toLinear(backdrop)
  return (cover, pixel) => {
    const light = toBackLight(film, pixel, backdrop) * (1 - cover)
    return { cover, light: scale(ground, light), alpha: 1 }
  }
}

/** Light on the backdrop: the shadow, and on a coloured one also a fall-off towards the corners. */
function toBackLight({ width, height, lit }, pixel, backdrop) {
  const x = (pixel % width) / width - 0.5
  const y = Math.floor(pixel / width) / height - 0.5
  const edge = smoothstep(0.3, 0.49, Math.max(Math.abs(x), Math.abs(y)))
  // White stays white at the edges, so that the picture has no visible frame on a white page.
  if (backdrop === '#ffffff') return mix(clamp(lit[pixel] * 1.02), 1, edge)
  const shade = clamp(lit[pixel])
  return shade * (1.12 - 0.5 * smoothstep(0.1, 1.3, Math.hypot(x + 0.08, (y + 0.1) * 1.1) * 1.4))
}

/** Read the linear colour of the art where the pixel's surface has it, between its four nearest points. */
function readArt({ data, width, height }, uv, pixel, out) {
  const x = clamp(uv[pixel * 3] * width - 0.5, 0, width - 1.001)
  const y = clamp(uv[pixel * 3 + 1] * height - 0.5, 0, height - 1.001)
  const [column, row] = [Math.floor(x), Math.floor(y)]
  for (let a = 0; a < 3; a++) {
    const at = (dx, dy) =>
      (data[((row + dy) * width + Math.min(width - 1, column + dx)) * 3 + a] / 255) ** 2.2
    const [s, t] = [x - column, y - row]
    out[a] = (at(0, 0) * (1 - s) + at(1, 0) * s) * (1 - t) + (at(0, 1) * (1 - s) + at(1, 1) * s) * t
  }
}
