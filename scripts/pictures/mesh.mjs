/** Meshes of triangles with smooth normals: `{ points, uvs, triangles }`, three indexes per triangle. */

export const TAU = 2 * Math.PI
export const mix = (a, b, t) => a + (b - a) * t
export const clamp = (x, low = 0, high = 1) => Math.min(high, Math.max(low, x))
export const smoothstep = (low, high, x) => {
  const t = clamp((x - low) / (high - low))
  return t * t * (3 - 2 * t)
}
export const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
export const subtract = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
export const scale = (a, s) => [a[0] * s, a[1] * s, a[2] * s]
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
export const cross = (a, b) => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
]
export const normalize = (a) => scale(a, 1 / (Math.hypot(...a) || 1))
export const range = (count, make) => Array.from({ length: count }, (_, index) => make(index, index / count))

/** Mesh of a grid of points, `toPoint(u, v)` with both from 0 to 1. Closed directions share their first and last column. */
export function grid(columns, rows, toPoint, { closed = false } = {}) {
  const points = []
  const uvs = []
  const width = closed ? columns : columns + 1
  for (let row = 0; row <= rows; row++)
    for (let column = 0; column < width; column++) {
      points.push(toPoint(column / columns, row / rows))
      uvs.push([column / columns, row / rows])
    }
  const triangles = []
  const toIndex = (column, row) => row * width + (column % width)
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) {
      const [a, b] = [toIndex(column, row), toIndex(column + 1, row)]
      const [c, d] = [toIndex(column, row + 1), toIndex(column + 1, row + 1)]
      triangles.push([a, b, d], [a, d, c])
    }
  return { points, uvs, triangles }
}

/** Round the corners of a polyline. Each corner is `[x, y, radius]`; the ends have none. */
export function fillet(corners, steps = 6) {
  return corners.flatMap((corner, index) => {
    const [x, y, radius = 0] = corner
    const [before, after] = [corners[index - 1], corners[index + 1]]
    if (radius === 0 || before === undefined || after === undefined) return [[x, y]]
    const start = shorten(corner, before, radius)
    const end = shorten(corner, after, radius)
    return range(steps + 1, (step) => {
      const t = step / steps
      return [0, 1].map((a) => (1 - t) ** 2 * start[a] + 2 * t * (1 - t) * corner[a] + t * t * end[a])
    })
  })
}

function shorten(corner, other, radius) {
  const length = Math.hypot(other[0] - corner[0], other[1] - corner[1])
  const t = Math.min(0.499, radius / (length || 1))
  return [mix(corner[0], other[0], t), mix(corner[1], other[1], t)]
}

/** Turn a profile of `[radius, height]` around the y axis. Edges without a fillet stay sharp in shape, soft in shading. */
export function lathe(profile, segments = 96) {
  const rows = profile.length - 1
  return grid(
    segments,
    rows,
    (u, v) => {
      const [radius, height] = profile[Math.round(v * rows)]
      return [radius * Math.cos(u * TAU), height, radius * Math.sin(u * TAU)]
    },
    { closed: true },
  )
}

/** Return a smooth curve through points (Catmull and Rom), as a function of t from 0 to 1. */
export function curve(points, { closed = false } = {}) {
  const spans = closed ? points.length : points.length - 1
  const get = (index) =>
    closed
      ? points[(index + points.length) % points.length]
      : points[Math.min(points.length - 1, Math.max(0, index))]
  return (t) => {
    const at = closed ? t * spans : clamp(t) * spans
    const span = closed ? Math.floor(at) : Math.min(spans - 1, Math.floor(at))
    const s = at - span
    const [p0, p1, p2, p3] = [get(span - 1), get(span), get(span + 1), get(span + 2)]
    return p1.map(
      (_, a) =>
        p1[a] +
        0.5 *
          s *
          (p2[a] -
            p0[a] +
            s * (2 * p0[a] - 5 * p1[a] + 4 * p2[a] - p3[a] + s * (3 * (p1[a] - p2[a]) + p3[a] - p0[a]))),
    )
  }
}

/** Return a smooth function through `[x, y]` pairs with rising x. */
export function spline(pairs) {
  return (x) => {
    const last = pairs.length - 1
    let index = 0
    while (index < last - 1 && pairs[index + 1][0] < x) index++
    const [x0, y0] = pairs[index]
    const [x1, y1] = pairs[index + 1]
    const slope = (i) => {
      const [a, b] = [pairs[Math.max(0, i - 1)], pairs[Math.min(last, i + 1)]]
      return (b[1] - a[1]) / (b[0] - a[0])
    }
    const t = clamp((x - x0) / (x1 - x0))
    const [m0, m1] = [slope(index) * (x1 - x0), slope(index + 1) * (x1 - x0)]
    const t2 = t * t
    return (
      (2 * t2 * t - 3 * t2 + 1) * y0 +
      (t2 * t - 2 * t2 + t) * m0 +
      (3 * t2 - 2 * t2 * t) * y1 +
      (t2 * t - t2) * m1
    )
  }
}

/**
 * Sweep a section along a path. `section(t, angle)` returns `[side, up]` in the plane across the path; a number is a radius.
 * `up`: the direction that the section's second axis keeps. Ends are closed.
 */
export function sweep(path, section, { steps = 64, sides = 24, up = [0, 1, 0], closed = false } = {}) {
  const toSection = toSectionFunction(section)
  const frames = range(steps + 1, (step) => toFrame(path, step / steps, up, closed))
  const body = grid(
    sides,
    steps,
    (u, v) => {
      const { at, side, lift } = frames[Math.round(v * steps)]
      const [x, y] = toSection(v, u * TAU)
      return add(at, add(scale(side, x), scale(lift, y)))
    },
    { closed: true },
  )
  if (closed) return body
  return join(
    body,
    cap(body.points.slice(0, sides), frames[0].at),
    cap(body.points.slice(-sides), frames.at(-1).at),
  )
}

function toSectionFunction(section) {
  if (typeof section === 'number') return (_, angle) => [section * Math.cos(angle), section * Math.sin(angle)]
  return section
}

function toFrame(path, t, up, closed) {
  const e = 1e-3
  const [low, high] = closed ? [t - e, t + e] : [clamp(t - e), clamp(t + e)]
  const along = normalize(subtract(path(high), path(low)))
  const side = normalize(cross(along, up))
  return { at: path(t), side, lift: cross(side, along) }
}

function cap(ring, centre) {
  return grid(ring.length, 1, (u, v) => {
    const point = ring[Math.round(u * ring.length) % ring.length]
    return v === 0 ? point : centre
  })
}

/** Close a ring of points around a centre. */
export const fan = cap

/** Superellipse section: exponent 2 is an ellipse, higher ones are boxes with round corners. */
export const superellipse =
  (width, height, exponent = 2) =>
  (_, angle) => {
    const [c, s] = [Math.cos(angle), Math.sin(angle)]
    const power = 2 / exponent
    return [width * Math.sign(c) * Math.abs(c) ** power, height * Math.sign(s) * Math.abs(s) ** power]
  }

/** Box with round edges, centred at the origin. */
export function roundedBox(width, height, depth, radius, divisions = 10) {
  const half = [width / 2, height / 2, depth / 2]
  const toPoint = (point) => {
    const inner = point.map((x, axis) => clamp(x, radius - half[axis], half[axis] - radius))
    return add(inner, scale(normalize(subtract(point, inner)), radius))
  }
  const stops = (size) => [
    ...range(divisions, (_, t) => -size + radius * (1 - Math.cos((t * Math.PI) / 2)) * 1.0001),
    ...range(divisions + 1, (step) => mix(radius - size, size - radius, step / divisions)),
    ...range(divisions, (_, t) => size - radius + radius * Math.sin(((t + 1 / divisions) * Math.PI) / 2)),
  ]
  const faces = [0, 1, 2].flatMap((axis) =>
    [-1, 1].map((sign) => {
      const [a, b] = [(axis + 1) % 3, (axis + 2) % 3]
      const [sa, sb] = [stops(half[a]), stops(half[b])]
      const mesh = grid(sa.length - 1, sb.length - 1, (u, v) => {
        const point = [0, 0, 0]
        point[axis] = sign * half[axis]
        point[a] = sa[Math.round(u * (sa.length - 1))]
        point[b] = sb[Math.round(v * (sb.length - 1))]
        return toPoint(point)
      })
      return mesh
    }),
  )
  return weld(join(...faces))
}

/** Share equal points, so that shading is smooth across their triangles. */
export function weld({ points, uvs, triangles }) {
  const seen = new Map()
  const targets = points.map((point, index) => {
    const key = point.map((x) => Math.round(x * 1e5)).join()
    if (!seen.has(key)) seen.set(key, index)
    return seen.get(key)
  })
  return { points, uvs, triangles: triangles.map((triangle) => triangle.map((index) => targets[index])) }
}

/** Flat ring in the xz plane with radii as functions of the angle, `height` thick, edges bevelled. */
export function ringPlate(inner, outer, height, { bevel = 0.01, segments = 720 } = {}) {
  const h = height / 2
  const rows = [
    [0, -h + bevel, 0],
    [0, h - bevel, 0],
    [0, h - bevel, 0],
    [1, h, bevel],
    [1, h, bevel],
    [1, h, -bevel],
    [1, h, -bevel],
    [0, h - bevel, 2],
    [0, h - bevel, 2],
    [0, -h + bevel, 2],
    [0, -h + bevel, 2],
    [1, -h, -bevel],
    [1, -h, -bevel],
    [1, -h, bevel],
    [1, -h, bevel],
    [0, -h + bevel, 0],
  ]
  return join(
    ...range(rows.length / 2, (pair) =>
      grid(
        segments,
        1,
        (u, v) => {
          const [isFace, y, side] = rows[pair * 2 + Math.round(v)]
          const angle = u * TAU
          const base = side === 2 || (isFace && side < 0) ? outer(angle) : inner(angle)
          const radius = isFace ? base + side : base
          return [radius * Math.cos(angle), y, radius * Math.sin(angle)]
        },
        { closed: true },
      ),
    ),
  )
}

export function join(...meshes) {
  const points = []
  const uvs = []
  const triangles = []
  for (const mesh of meshes) {
    const offset = points.length
    for (const point of mesh.points) points.push(point)
    for (const uv of mesh.uvs) uvs.push(uv)
    for (const triangle of mesh.triangles) triangles.push(triangle.map((index) => index + offset))
  }
  return { points, uvs, triangles }
}

/** Apply a function to every point. */
export const deform = (mesh, change) => ({
  ...mesh,
  points: mesh.points.map((point, i) => change(point, mesh.uvs[i])),
})

export const move = (mesh, x, y, z) => deform(mesh, (point) => add(point, [x, y, z]))
export const resize = (mesh, x, y = x, z = x) =>
  deform(mesh, (point) => [point[0] * x, point[1] * y, point[2] * z])

/** Turn around an axis (0 x, 1 y, 2 z) by degrees. */
export function turn(mesh, axis, degrees) {
  const [c, s] = [Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180)]
  const [a, b] = [(axis + 1) % 3, (axis + 2) % 3]
  return deform(mesh, (point) => {
    const turned = [...point]
    turned[a] = c * point[a] - s * point[b]
    turned[b] = s * point[a] + c * point[b]
    return turned
  })
}

/** Normals of the points, averaged over their triangles by area. */
export function toNormals({ points, triangles }) {
  const normals = points.map(() => [0, 0, 0])
  for (const [a, b, c] of triangles) {
    const normal = cross(subtract(points[b], points[a]), subtract(points[c], points[a]))
    for (const index of [a, b, c]) normals[index] = add(normals[index], normal)
  }
  return normals.map(normalize)
}

/** Move every point along its normal by `toHeight(point, uv)`. */
export function displace(mesh, toHeight) {
  const normals = toNormals(mesh)
  return {
    ...mesh,
    points: mesh.points.map((point, i) =>
      add(point, scale(normals[i], toHeight(point, mesh.uvs[i], normals[i]))),
    ),
  }
}
