import type { Tone } from './tones.ts'

/** Over-ear headphones. */
export function drawHeadphones(tone: Tone): string {
  return `
<path d="M128 268V236c0-80 48-132 112-132s112 52 112 132v32" fill="none" stroke="${tone.dark}" stroke-width="22" stroke-linecap="round"/>
<path d="M146 190c16-46 50-72 94-72s78 26 94 72" fill="none" stroke="${tone.light}" stroke-width="14" stroke-linecap="round"/>
<rect x="117" y="226" width="22" height="44" rx="8" fill="${tone.pale}"/>
<rect x="341" y="226" width="22" height="44" rx="8" fill="${tone.pale}"/>
<rect x="142" y="248" width="46" height="112" rx="23" fill="${tone.ink}"/>
<rect x="292" y="248" width="46" height="112" rx="23" fill="${tone.ink}"/>
<path d="M154 242v124c-38 4-62-22-62-62s24-66 62-62z" fill="${tone.main}"/>
<path d="M326 242v124c38 4 62-22 62-62s-24-66-62-62z" fill="${tone.main}"/>
<path d="M352 248c24 10 36 30 36 56s-12 46-36 56c12-34 12-78 0-112z" fill="${tone.dark}" opacity=".6"/>
<path d="M112 328c-8-14-8-34 0-48" fill="none" stroke="${tone.light}" stroke-width="8" stroke-linecap="round"/>
<circle cx="344" cy="304" r="5" fill="${tone.pale}"/>`
}

/** An e-reader with a page of text, slightly turned. */
export function drawEReader(tone: Tone): string {
  const lines = [196, 212, 228, 244, 260, 276, 292]
    .map((y, index) => `<path d="M182 ${y}h${index === 3 ? 70 : index === 6 ? 92 : 116}"/>`)
    .join('')
  return `
<g transform="rotate(-5 240 240)">
<rect x="148" y="92" width="196" height="276" rx="22" fill="${tone.dark}"/>
<rect x="142" y="90" width="196" height="276" rx="22" fill="${tone.main}"/>
<rect x="162" y="112" width="156" height="212" rx="6" fill="${tone.pale}"/>
<path d="M182 140h72" stroke="${tone.ink}" stroke-width="9" stroke-linecap="round"/>
<path d="M182 162h44" stroke="${tone.light}" stroke-width="6" stroke-linecap="round"/>
<g stroke="${tone.shadow}" stroke-width="6" stroke-linecap="round">${lines}</g>
<path d="M182 310h40" stroke="${tone.main}" stroke-width="4" stroke-linecap="round"/>
<path d="M222 310h76" stroke="${tone.shadow}" stroke-width="4" stroke-linecap="round"/>
<rect x="218" y="338" width="44" height="9" rx="4.5" fill="${tone.light}"/>
</g>`
}

/** A board game: its box, three pawns and a die. */
export function drawBoardGame(tone: Tone): string {
  return `
<path d="M92 244l140 62v66L92 304z" fill="${tone.main}"/>
<path d="M388 244l-156 62v66l156-68z" fill="${tone.dark}"/>
<path d="M92 244l152-58 144 58-156 62z" fill="${tone.light}"/>
<path d="M92 266l140 62 156-62" fill="none" stroke="${tone.pale}" stroke-width="4" opacity=".6"/>
<path d="M158 244l84-32 80 32-88 35z" fill="${tone.pale}" opacity=".85"/>
<path d="M200 244l42-16 40 16-45 18z" fill="${tone.main}"/>
<path d="M170 148a22 22 0 1 1 32 0c10 30 18 52 20 74 0 12-72 12-72 0 2-22 10-44 20-74z" fill="${tone.dark}"/>
<path d="M290 158a20 20 0 1 1 28 0c10 26 16 44 18 64 0 12-64 12-64 0 2-20 8-38 18-64z" fill="${tone.main}"/>
<path d="M172 126a14 14 0 0 1 10-8M292 138a12 12 0 0 1 9-8" fill="none" stroke="${tone.pale}" stroke-width="5" stroke-linecap="round" opacity=".7"/>
<g transform="rotate(12 338 340)">
<rect x="308" y="312" width="60" height="60" rx="13" fill="${tone.pale}"/>
<path d="M308 358v1a13 13 0 0 0 13 13h34a13 13 0 0 0 13-13v-1z" fill="${tone.shadow}"/>
<g fill="${tone.ink}"><circle cx="324" cy="327" r="5"/><circle cx="352" cy="327" r="5"/><circle cx="338" cy="340" r="5"/><circle cx="324" cy="353" r="5"/><circle cx="352" cy="353" r="5"/></g>
</g>`
}
