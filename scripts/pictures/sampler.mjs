/** A quasi-random sequence per pixel (Roberts' R sequences, rotated). */
export function createSampler() {
  const state = { seed: 0, index: 0, dimension: 0 }
  const next = () => {
    const d = state.dimension++
    let h = (Math.imul(state.seed, 0x9e3779b1) ^ Math.imul(d + 1, 0x85ebca77)) | 0
    h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d)
    h = Math.imul(h ^ (h >>> 12), 0x297a2d39)
    const offset = ((h ^ (h >>> 15)) >>> 0) / 4294967296
    const step = d % 2 === 0 ? 0.7548776662466927 : 0.5698402909980532
    // Pairs of dimensions visit the sequence in different orders.
    const index = d < 4 ? state.index : scramble(state.index, d >> 1)
    return (offset + index * step) % 1
  }
  return { state, next }
}

function scramble(index, pair) {
  return (index * (2 * pair + 1)) & 1023
}
