/** Capital letters as strokes, one unit wide and 1.4 high, so that titles need no font. */
const STROKES = {
  A: 'M0 1.4 .5 0 1 1.4M.18 .92H.82',
  B: 'M0 0V1.4H.55A.38 .38 0 0 0 .55 .64H0M.5 .64A.32 .32 0 0 0 .5 0H0',
  C: 'M.95 .25A.6 .7 0 1 0 .95 1.15',
  D: 'M0 0V1.4H.35A.65 .7 0 0 0 .35 0Z',
  E: 'M.8 0H0V1.4H.8M0 .67H.68',
  F: 'M.8 0H0V1.4M0 .67H.68',
  G: 'M.95 .25A.6 .7 0 1 0 1 .8H.6',
  H: 'M0 0V1.4M.9 0V1.4M0 .67H.9',
  I: 'M.1 0V1.4',
  J: 'M.6 0V1.05A.3 .35 0 0 1 0 1.05',
  K: 'M0 0V1.4M.85 0 0 .85M.3 .56 .9 1.4',
  L: 'M0 0V1.4H.75',
  M: 'M0 1.4V0L.55 .9 1.1 0V1.4',
  N: 'M0 1.4V0L.95 1.4V0',
  O: 'M.6 0A.6 .7 0 1 0 .6 1.4A.6 .7 0 1 0 .6 0Z',
  P: 'M0 1.4V0H.5A.4 .4 0 0 1 .5 .8H0',
  Q: 'M.6 0A.6 .7 0 1 0 .6 1.4A.6 .7 0 1 0 .6 0ZM.75 1 1.15 1.5',
  R: 'M0 1.4V0H.5A.38 .38 0 0 1 .5 .76H0M.45 .76 .88 1.4',
  S: 'M.78 .2C.6 -.08 .05 -.05 .05 .36C.05 .8 .85 .55 .85 1.03C.85 1.5 .2 1.5 0 1.15',
  T: 'M0 0H1M.5 0V1.4',
  U: 'M0 0V.95A.45 .45 0 0 0 .9 .95V0',
  V: 'M0 0 .5 1.4 1 0',
  W: 'M0 0 .38 1.4 .75 .3 1.12 1.4 1.5 0',
  X: 'M0 0 .9 1.4M.9 0 0 1.4',
  Y: 'M0 0 .5 .7 1 0M.5 .7V1.4',
  Z: 'M0 0H.9L0 1.4H.9',
  '&': 'M1 1.4 .2 .4C.05 .1 .3 0 .42 0C.65 0 .75 .35 .45 .55C.1 .8 0 .9 .05 1.1C.15 1.5 .7 1.5 .95 .8',
}
const WIDTHS = {
  B: 0.9,
  E: 0.8,
  F: 0.8,
  I: 0.2,
  J: 0.6,
  K: 0.9,
  L: 0.75,
  M: 1.1,
  O: 1.2,
  P: 0.88,
  Q: 1.2,
  R: 0.9,
  S: 0.88,
  W: 1.5,
  ' ': 0.5,
}
const ACCENTS = { Ü: 'U', Ö: 'O', Ä: 'A' }
const GAP = 0.42

/** Width of a text in units of letters. */
export const toTextWidth = (text) =>
  [...text].reduce((sum, letter) => sum + (WIDTHS[ACCENTS[letter] ?? letter] ?? 1) + GAP, -GAP)

/** Draw a text as SVG, centred at `x`, its top at `y`. `size`: pixels per unit; `weight`: stroke in units. */
export function drawText(text, { x, y, size, weight, colour }) {
  let at = -toTextWidth(text) / 2
  const paths = []
  for (const letter of text) {
    const base = ACCENTS[letter] ?? letter
    const dots = base === letter ? '' : 'M.25 -.35V-.34M.7 -.35V-.34'
    if (base !== ' ')
      paths.push(`<path transform="translate(${at.toFixed(2)})" d="${STROKES[base]}${dots}"/>`)
    at += (WIDTHS[base] ?? 1) + GAP
  }
  return `<g transform="translate(${x} ${y})scale(${size})" fill="none" stroke="${colour}" stroke-width="${weight}" stroke-linecap="round" stroke-linejoin="round">${paths.join('')}</g>`
}
