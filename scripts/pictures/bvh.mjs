/** A bounding volume hierarchy over triangles: finds the nearest triangle on a ray. */

const LEAF_TRIANGLES = 4
const BINS = 12

/** Build the tree. `corners`: nine numbers per triangle. */
export function buildBvh(corners) {
  const count = corners.length / 9
  const order = Int32Array.from({ length: count }, (_, index) => index)
  const boxes = new Float64Array(count * 6)
  const centres = new Float64Array(count * 3)
  for (let index = 0; index < count; index++) measureTriangle(corners, index, boxes, centres)
  const builder = { boxes, centres, order, bounds: [], first: [], size: [] }
  if (count > 0) addNode(builder, 0, count)
  return {
    corners,
    order,
    bounds: Float64Array.from(builder.bounds),
    first: Int32Array.from(builder.first),
    size: Int32Array.from(builder.size),
  }
}

function measureTriangle(corners, index, boxes, centres) {
  for (let axis = 0; axis < 3; axis++) {
    const [a, b, c] = [0, 3, 6].map((corner) => corners[index * 9 + corner + axis])
    boxes[index * 6 + axis] = Math.min(a, b, c)
    boxes[index * 6 + 3 + axis] = Math.max(a, b, c)
    centres[index * 3 + axis] = (a + b + c) / 3
  }
}

/**
 * Add the node of `order[start..end)` and its children. The first child follows its parent; `first` holds the second, and
 * `size` -1 minus the axis of the split.
 */
function addNode(builder, start, end) {
  const node = builder.first.length
  builder.bounds.push(...unite(builder, start, end))
  builder.first.push(start)
  builder.size.push(end - start)
  if (end - start <= LEAF_TRIANGLES) return node
  const { middle, axis } = split(builder, start, end)
  builder.size[node] = -1 - axis
  addNode(builder, start, middle)
  builder.first[node] = addNode(builder, middle, end)
  return node
}

function unite({ boxes, order }, start, end) {
  const box = [Infinity, Infinity, Infinity, -Infinity, -Infinity, -Infinity]
  for (let at = start; at < end; at++) growBox(box, boxes, order[at] * 6)
  return box
}

function growBox(box, boxes, offset) {
  for (let axis = 0; axis < 3; axis++) {
    box[axis] = Math.min(box[axis], boxes[offset + axis])
    box[axis + 3] = Math.max(box[axis + 3], boxes[offset + axis + 3])
  }
}

/** Reorder the range around the cheapest of a few planes along its longest axis; return it and where the second half begins. */
function split({ boxes, centres, order }, start, end) {
  const { axis, low, high } = findLongestAxis(centres, order, start, end)
  const toBin = (triangle) =>
    Math.min(BINS - 1, Math.floor(((centres[triangle * 3 + axis] - low) / (high - low)) * BINS))
  const middle = (start + end) >> 1
  if (high - low < 1e-9) return { middle, axis }
  const best = findCheapestPlane({ boxes, order, start, end, toBin })
  let left = start
  for (let at = start; at < end; at++) {
    if (toBin(order[at]) >= best) continue
    const swapped = order[left]
    order[left++] = order[at]
    order[at] = swapped
  }
  return { middle: left === start || left === end ? middle : left, axis }
}

function findLongestAxis(centres, order, start, end) {
  let best = { axis: 0, low: 0, high: 0 }
  for (let axis = 0; axis < 3; axis++) {
    let [low, high] = [Infinity, -Infinity]
    for (let at = start; at < end; at++) {
      low = Math.min(low, centres[order[at] * 3 + axis])
      high = Math.max(high, centres[order[at] * 3 + axis])
    }
    if (high - low > best.high - best.low) best = { axis, low, high }
  }
  return best
}

function findCheapestPlane({ boxes, order, start, end, toBin }) {
  const bins = Array.from({ length: BINS }, () => ({ count: 0, box: [1e9, 1e9, 1e9, -1e9, -1e9, -1e9] }))
  for (let at = start; at < end; at++) {
    const bin = bins[toBin(order[at])]
    bin.count++
    growBox(bin.box, boxes, order[at] * 6)
  }
  const costs = bins.map((_, plane) => costOf(bins.slice(0, plane)) + costOf(bins.slice(plane)))
  return costs.reduce((best, cost, plane) => (plane > 0 && cost < costs[best] ? plane : best), 1)
}

function costOf(bins) {
  const box = [1e9, 1e9, 1e9, -1e9, -1e9, -1e9]
  let count = 0
  for (const bin of bins) {
    count += bin.count
    growBox(box, bin.box, 0)
  }
  const [x, y, z] = [0, 1, 2].map((axis) => box[axis + 3] - box[axis])
  return count === 0 ? 0 : count * (x * y + y * z + z * x)
}

/** The result of the last `intersect`: distance, triangle (-1: none) and barycentric coordinates. */
export const hit = { t: Infinity, triangle: -1, u: 0, v: 0 }
const stack = new Int32Array(96)

/** Find the nearest triangle within `tMax`, or with `any` just one of them. Return whether there is one. */
export function intersect(bvh, ray, tMax, any) {
  const { bounds, first, size } = bvh
  const { ox, oy, oz, dx, dy, dz } = ray
  const ix = 1 / dx
  const iy = 1 / dy
  const iz = 1 / dz
  hit.t = tMax
  hit.triangle = -1
  let top = 0
  stack[top++] = 0
  while (top > 0) {
    const node = stack[--top]
    const at = node * 6
    const x0 = (bounds[at] - ox) * ix
    const x1 = (bounds[at + 3] - ox) * ix
    const y0 = (bounds[at + 1] - oy) * iy
    const y1 = (bounds[at + 4] - oy) * iy
    const z0 = (bounds[at + 2] - oz) * iz
    const z1 = (bounds[at + 5] - oz) * iz
    const near = Math.max(Math.min(x0, x1), Math.min(y0, y1), Math.min(z0, z1), 0)
    const far = Math.min(Math.max(x0, x1), Math.max(y0, y1), Math.max(z0, z1), hit.t)
    if (!(near <= far)) continue
    if (size[node] > 0) {
      intersectLeaf(bvh, ray, first[node], size[node])
      if (any && hit.triangle >= 0) return true
    } else {
      const isForward = (size[node] === -1 ? dx : size[node] === -2 ? dy : dz) > 0
      stack[top++] = isForward ? first[node] : node + 1
      stack[top++] = isForward ? node + 1 : first[node]
    }
  }
  return hit.triangle >= 0
}

/** Möller and Trumbore's test for each triangle of a leaf. */
function intersectLeaf({ corners, order }, { ox, oy, oz, dx, dy, dz }, start, size) {
  for (let index = start; index < start + size; index++) {
    const triangle = order[index]
    const c = triangle * 9
    const e1x = corners[c + 3] - corners[c]
    const e1y = corners[c + 4] - corners[c + 1]
    const e1z = corners[c + 5] - corners[c + 2]
    const e2x = corners[c + 6] - corners[c]
    const e2y = corners[c + 7] - corners[c + 1]
    const e2z = corners[c + 8] - corners[c + 2]
    const px = dy * e2z - dz * e2y
    const py = dz * e2x - dx * e2z
    const pz = dx * e2y - dy * e2x
    const inverse = 1 / (e1x * px + e1y * py + e1z * pz)
    const tx = ox - corners[c]
    const ty = oy - corners[c + 1]
    const tz = oz - corners[c + 2]
    const u = (tx * px + ty * py + tz * pz) * inverse
    if (!(u >= 0 && u <= 1)) continue
    const qx = ty * e1z - tz * e1y
    const qy = tz * e1x - tx * e1z
    const qz = tx * e1y - ty * e1x
    const v = (dx * qx + dy * qy + dz * qz) * inverse
    const t = (e2x * qx + e2y * qy + e2z * qz) * inverse
    if (!(v >= 0 && u + v <= 1 && t > 1e-5 && t < hit.t)) continue
    hit.t = t
    hit.triangle = triangle
    hit.u = u
    hit.v = v
  }
}
