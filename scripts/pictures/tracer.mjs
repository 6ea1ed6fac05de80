/**
 * A path tracer. Every light is a softbox far away or the dome of the studio. The colour of one material, the tint, stays open:
 * light that the tint scattered towards the camera is collected apart, so one rendering serves every colour of a product.
 */
import { buildBvh, hit, intersect } from './bvh.mjs'
import { dot, toNormals } from './mesh.mjs'
import { sampleSoftbox, toSky, toSoftboxDensity } from './studio.mjs'

const MAX_BOUNCES = 4
/** Lightness of the tint where it lights another surface: the one grey serves every colour. */
const BOUNCE_TINT = 0.35
/** The brightest indirect light of a path: brighter ones are noise. */
const MAX_INDIRECT = 4

/** Join the parts `{ mesh, material }` of a scene for the tracer. */
export function createGeometry(parts) {
  const count = parts.reduce((sum, { mesh }) => sum + mesh.triangles.length, 0)
  const corners = new Float64Array(count * 9)
  const normals = new Float64Array(count * 9)
  const uvs = new Float64Array(count * 6)
  const materials = new Int32Array(count)
  let at = 0
  for (const [number, { mesh }] of parts.entries()) {
    const smooth = toNormals(mesh)
    for (const triangle of mesh.triangles) {
      for (const [corner, index] of triangle.entries()) {
        corners.set(mesh.points[index], at * 9 + corner * 3)
        normals.set(smooth[index], at * 9 + corner * 3)
        uvs.set(mesh.uvs[index], at * 6 + corner * 2)
      }
      materials[at++] = number
    }
  }
  return { bvh: buildBvh(corners), normals, uvs, materials, parts }
}

/** What the last hit looks like: place, normals, colours. Reused, to spare the collector of garbage. */
const surface = {
  p: [0, 0, 0],
  n: [0, 0, 0],
  uv: [0, 0],
  albedo: [0, 0, 0],
  tint: 0,
  alpha: 0,
  f0: 0.04,
  metal: false,
  sheen: 0,
  emission: null,
}
const FLOOR = { albedo: [0.78, 0.78, 0.78], roughness: 1, f0: 0 }

/** Fill `surface` for the hit of a ray. */
function loadSurface({ geometry }, ray) {
  const { triangle, u, v, t } = hit
  const { p, n, uv } = surface
  p[0] = ray.ox + ray.dx * t
  p[1] = ray.oy + ray.dy * t
  p[2] = ray.oz + ray.dz * t
  const { normals, uvs, parts, materials } = geometry
  const w = 1 - u - v
  for (let a = 0; a < 3; a++) {
    const at = triangle * 9 + a
    n[a] = w * normals[at] + u * normals[at + 3] + v * normals[at + 6]
  }
  for (let a = 0; a < 2; a++) {
    const at = triangle * 6 + a
    uv[a] = w * uvs[at] + u * uvs[at + 2] + v * uvs[at + 4]
  }
  loadMaterial(parts[materials[triangle]].material)
  orient(n, ray)
}

function loadMaterial(material) {
  surface.albedo[0] = material.albedo[0]
  surface.albedo[1] = material.albedo[1]
  surface.albedo[2] = material.albedo[2]
  surface.tint = material.tint ?? 0
  surface.alpha = (material.roughness ?? 0.5) ** 2
  surface.f0 = material.f0 ?? 0.04
  surface.metal = material.metal ?? false
  surface.sheen = material.sheen ?? 0
  surface.emission = material.emission ?? null
  material.paint?.(surface)
  if (material.bump) applyBump(material.bump)
}

/** Tilt the normal along the slope of `height(x, y, z, normal)` times `depth`. */
function applyBump({ height, depth, step }) {
  const { p, n } = surface
  const [x, y, z] = p
  const base = height(x, y, z, n)
  const gx = ((height(x + step, y, z, n) - base) / step) * depth
  const gy = ((height(x, y + step, z, n) - base) / step) * depth
  const gz = ((height(x, y, z + step, n) - base) / step) * depth
  const along = gx * n[0] + gy * n[1] + gz * n[2]
  n[0] -= gx - along * n[0]
  n[1] -= gy - along * n[1]
  n[2] -= gz - along * n[2]
}

/** Normalize a normal and turn it towards the origin of the ray. */
function orient(n, { dx, dy, dz }) {
  const length = Math.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) || 1
  const sign = (n[0] * dx + n[1] * dy + n[2] * dz > 0 ? -1 : 1) / length
  n[0] *= sign
  n[1] *= sign
  n[2] *= sign
}

function loadFloor({ floor }, ray, t) {
  surface.p[0] = ray.ox + ray.dx * t
  surface.p[1] = 0
  surface.p[2] = ray.oz + ray.dz * t
  surface.n[0] = surface.n[2] = 0
  surface.n[1] = 1
  loadMaterial(floor.material ?? FLOOR)
  orient(surface.n, ray)
}

/** Result of `evaluate`: factor of the albedo, the rest, and the density of sampling the direction. */
const lobe = { colour: 0, plain: 0, density: 0 }

/** Reflect light from `l` to `v`, both unit vectors away from the surface; the cosine is included. */
function evaluate(v, l) {
  const { n, alpha, f0, metal, sheen } = surface
  const nl = dot(n, l)
  const nv = Math.max(1e-4, dot(n, v))
  lobe.colour = lobe.plain = lobe.density = 0
  if (nl <= 0) return
  const hx = v[0] + l[0]
  const hy = v[1] + l[1]
  const hz = v[2] + l[2]
  const length = Math.sqrt(hx * hx + hy * hy + hz * hz) || 1
  const nh = (n[0] * hx + n[1] * hy + n[2] * hz) / length
  const vh = (v[0] * hx + v[1] * hy + v[2] * hz) / length
  const a2 = Math.max(1e-6, alpha * alpha)
  const d = a2 / (Math.PI * (nh * nh * (a2 - 1) + 1) ** 2)
  const gv = 2 / (1 + Math.sqrt(1 + a2 * (1 / (nv * nv) - 1)))
  const gl = 2 / (1 + Math.sqrt(1 + a2 * (1 / (nl * nl) - 1)))
  const specular = (d * gv * gl) / (4 * nv)
  const s = (1 - Math.min(1, vh)) ** 5
  const share = specularShare(metal, f0, nv)
  lobe.density = (share * d * gv) / (4 * nv) + ((1 - share) * nl) / Math.PI
  if (metal) {
    lobe.colour = specular * (1 - s)
    lobe.plain = specular * s
  } else {
    const fresnel = f0 === 0 ? 0 : f0 + (1 - f0) * s * (1 - alpha * 0.7)
    lobe.colour = ((1 - fresnel) * nl) / Math.PI
    lobe.plain = specular * fresnel + (sheen * (1 - nv) ** 3 * nl) / Math.PI
  }
}

function specularShare(metal, f0, nv) {
  if (metal) return 1
  if (f0 === 0) return 0
  return Math.min(0.7, 0.15 + f0 + 0.6 * (1 - nv) ** 5)
}

const tangent = [0, 0, 0]
const bitangent = [0, 0, 0]

function buildFrame(n) {
  const sign = n[2] >= 0 ? 1 : -1
  const a = -1 / (sign + n[2])
  const b = n[0] * n[1] * a
  tangent[0] = 1 + sign * n[0] * n[0] * a
  tangent[1] = sign * b
  tangent[2] = -sign * n[0]
  bitangent[0] = b
  bitangent[1] = sign + n[1] * n[1] * a
  bitangent[2] = -n[1]
}

/** Choose a direction to continue a path in. */
function sampleDirection(v, r, out) {
  const { n, alpha, f0, metal } = surface
  buildFrame(n)
  const nv = Math.max(1e-4, dot(n, v))
  const isSpecular = r() < specularShare(metal, f0, nv)
  const r1 = r()
  const r2 = r()
  if (!isSpecular) return toCosineDirection(n, r1, r2, out)
  // Heitz's sampling of visible normals.
  const vx = dot(tangent, v) * alpha
  const vy = dot(bitangent, v) * alpha
  const length = Math.sqrt(vx * vx + vy * vy + nv * nv)
  const [x, y, z] = [vx / length, vy / length, nv / length]
  const flat = Math.sqrt(x * x + y * y)
  const [t1x, t1y] = flat > 1e-6 ? [-y / flat, x / flat] : [1, 0]
  const radius = Math.sqrt(r1)
  const phi = 2 * Math.PI * r2
  const p = radius * Math.cos(phi)
  const s = 0.5 * (1 + z)
  const q = (1 - s) * Math.sqrt(1 - p * p) + s * radius * Math.sin(phi)
  const lift = Math.sqrt(Math.max(0, 1 - p * p - q * q))
  const hx = (p * t1x - q * z * t1y + lift * x) * alpha
  const hy = (p * t1y + q * z * t1x + lift * y) * alpha
  const hz = Math.max(1e-6, q * (x * t1y - y * t1x) + lift * z)
  const scale = 1 / Math.sqrt(hx * hx + hy * hy + hz * hz)
  for (let a = 0; a < 3; a++) out[a] = (tangent[a] * hx + bitangent[a] * hy + n[a] * hz) * scale
  const twice = 2 * dot(v, out)
  for (let a = 0; a < 3; a++) out[a] = twice * out[a] - v[a]
}

function toCosineDirection(n, r1, r2, out) {
  const radius = Math.sqrt(r1)
  const [x, y, z] = [
    radius * Math.cos(2 * Math.PI * r2),
    radius * Math.sin(2 * Math.PI * r2),
    Math.sqrt(Math.max(0, 1 - r1)),
  ]
  for (let a = 0; a < 3; a++) out[a] = tangent[a] * x + bitangent[a] * y + n[a] * z
}

const ray = { ox: 0, oy: 0, oz: 0, dx: 0, dy: 0, dz: 0 }

function aim(origin, direction, offset) {
  ray.ox = origin[0] + surface.n[0] * offset
  ray.oy = origin[1] + surface.n[1] * offset
  ray.oz = origin[2] + surface.n[2] * offset
  ray.dx = direction[0]
  ray.dy = direction[1]
  ray.dz = direction[2]
}

/** Find what the ray hits: 0 nothing, 1 a triangle, 2 the floor. Fills `surface`. */
function castRay(scene) {
  const t = scene.floor && ray.dy < -1e-6 ? -ray.oy / ray.dy : Infinity
  if (intersect(scene.geometry.bvh, ray, t, false)) {
    loadSurface(scene, ray)
    return 1
  }
  if (t === Infinity) return 0
  loadFloor(scene, ray, t)
  return 2
}

const toEye = [0, 0, 0]
const toLight = [0, 0, 0]
const sky = [0, 0, 0]
const OFFSET = 1e-4

/**
 * Trace a path from a camera ray. Fills `out`: light by the tint and the rest, whether an object was hit (`cover`), the light
 * on the floor with and without objects (`lit`, `all`), and what the denoiser needs of the first hit.
 */
export function tracePath(scene, camera, sampler, out) {
  aimCamera(camera)
  resetOutput(out)
  const kind = castRay(scene)
  if (kind === 0) return
  out.depth = Math.hypot(surface.p[0] - ray.ox, surface.p[1] - ray.oy, surface.p[2] - ray.oz)
  for (let a = 0; a < 3; a++) out.normal[a] = surface.n[a]
  if (kind === 2 && !scene.floor.material) {
    measureShade(scene, sampler.next, out)
    return
  }
  out.cover = 1
  out.lit = out.all = 0
  out.uv[0] = surface.uv[0]
  out.uv[1] = surface.uv[1]
  for (let a = 0; a < 3; a++) out.albedo[a] = surface.albedo[a] * (1 - 0.5 * surface.tint)
  followPath(scene, sampler.next, out)
}

function aimCamera({ origin, direction }) {
  surface.n.fill(0)
  aim(origin, direction, 0)
}

function resetOutput(out) {
  out.plain.fill(0)
  out.tint.fill(0)
  out.albedo.fill(0)
  out.normal.fill(0)
  out.cover = 0
  out.lit = 1
  out.all = 1
  out.depth = 0
}

const path = { plain: [1, 1, 1], tint: [0, 0, 0], density: 0 }
const saved = { plain: [0, 0, 0], tint: [0, 0, 0] }

function followPath(scene, r, out) {
  path.plain.fill(1)
  path.tint.fill(0)
  for (let bounce = 0; bounce < MAX_BOUNCES; bounce++) {
    if (surface.emission) collect(out, surface.emission, 1, bounce)
    toEye[0] = -ray.dx
    toEye[1] = -ray.dy
    toEye[2] = -ray.dz
    collectDirect(scene, r, out, bounce)
    sampleDirection(toEye, r, toLight)
    evaluate(toEye, toLight)
    if (lobe.density <= 1e-9) return
    scatter(bounce, 1 / lobe.density)
    path.density = lobe.density
    if (brightestOf(path.plain, path.tint) < 0.03) return
    aim(surface.p, toLight, OFFSET)
    if (castRay(scene) === 0) {
      toSky(scene, ray.dx, ray.dy, ray.dz, sky)
      const other = toSoftboxDensity(scene.softboxes, ray.dx, ray.dy, ray.dz)
      collect(out, sky, path.density ** 2 / (path.density ** 2 + other ** 2), bounce)
      return
    }
  }
}

/** Add light of one softbox at the surface. */
function collectDirect(scene, r, out, bounce) {
  sampleSoftbox(scene.softboxes, r(), r(), toLight)
  evaluate(toEye, toLight)
  if (lobe.colour + lobe.plain <= 1e-4) return
  const density = toSoftboxDensity(scene.softboxes, toLight[0], toLight[1], toLight[2])
  const weight = density / (density ** 2 + lobe.density ** 2)
  const [colour, plain] = [lobe.colour, lobe.plain]
  aim(surface.p, toLight, OFFSET)
  const reach = scene.floor && ray.dy < 0 ? -ray.oy / ray.dy : Infinity
  if (reach < 1e6 || intersect(scene.geometry.bvh, ray, Infinity, true)) return
  toSky(scene, toLight[0], toLight[1], toLight[2], sky)
  for (let a = 0; a < 3; a++) {
    saved.plain[a] = path.plain[a]
    saved.tint[a] = path.tint[a]
  }
  lobe.colour = colour
  lobe.plain = plain
  scatter(bounce, weight)
  collect(out, sky, 1, bounce)
  for (let a = 0; a < 3; a++) {
    path.plain[a] = saved.plain[a]
    path.tint[a] = saved.tint[a]
  }
}

const brightestOf = (a, b) => Math.max(a[0], a[1], a[2], b[0], b[1], b[2])

/** Multiply the path by the surface. Only the first surface separates the tint. */
function scatter(bounce, weight) {
  const { albedo, tint } = surface
  for (let a = 0; a < 3; a++) {
    if (bounce === 0) {
      path.tint[a] = lobe.colour * albedo[a] * tint * weight
      path.plain[a] = (lobe.colour * albedo[a] * (1 - tint) + lobe.plain) * weight
    } else {
      const factor = (lobe.colour * albedo[a] * (1 - tint + tint * BOUNCE_TINT) + lobe.plain) * weight
      path.tint[a] *= factor
      path.plain[a] *= factor
    }
  }
}

function collect(out, light, weight, bounce) {
  const brightest = Math.max(light[0], light[1], light[2]) * weight * brightestOf(path.plain, path.tint)
  const factor = bounce > 0 && brightest > MAX_INDIRECT ? (weight * MAX_INDIRECT) / brightest : weight
  for (let a = 0; a < 3; a++) {
    out.plain[a] += path.plain[a] * light[a] * factor
    out.tint[a] += path.tint[a] * light[a] * factor
  }
}

/** Light that objects give back to the floor that they shade. */
const SHADE_BOUNCE = 0.18

/** Measure the light on the floor: `lit` with, `all` without the objects. */
function measureShade(scene, r, out) {
  let lit = 0
  let all = 0
  const { softboxes, geometry } = scene
  const cast = (weight) => {
    aim(surface.p, toLight, OFFSET)
    all += weight
    lit += weight * (intersect(geometry.bvh, ray, Infinity, true) ? SHADE_BOUNCE : 1)
  }
  sampleSoftbox(softboxes, r(), r(), toLight)
  const density = toSoftboxDensity(softboxes, toLight[0], toLight[1], toLight[2])
  const box = toSky(scene, toLight[0], toLight[1], toLight[2], sky)[1]
  if (toLight[1] > 0) cast(((box - scene.dome.high[1]) * toLight[1]) / Math.PI / density)
  buildFrame(surface.n)
  toCosineDirection(surface.n, r(), r(), toLight)
  cast(scene.dome.high[1] * 0.8)
  out.lit = lit
  out.all = all
}
