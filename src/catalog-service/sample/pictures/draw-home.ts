import type { Tone } from './tones.ts'

/** An espresso machine with a cup under its spout. */
export function drawEspresso(tone: Tone): string {
  return `
<rect x="176" y="92" width="128" height="34" rx="10" fill="${tone.light}"/>
<rect x="148" y="112" width="184" height="252" rx="20" fill="${tone.main}"/>
<path d="M312 112h0a20 20 0 0 1 20 20v212a20 20 0 0 1-20 20z" fill="${tone.dark}"/>
<rect x="168" y="206" width="132" height="138" rx="10" fill="${tone.dark}"/>
<rect x="168" y="206" width="132" height="34" rx="10" fill="${tone.ink}" opacity=".28"/>
<circle cx="196" cy="160" r="21" fill="${tone.pale}"/>
<path d="M196 160l9-11" stroke="${tone.main}" stroke-width="4" stroke-linecap="round"/>
<circle cx="246" cy="160" r="11" fill="${tone.light}"/>
<circle cx="280" cy="160" r="11" fill="${tone.light}"/>
<rect x="206" y="198" width="56" height="26" rx="6" fill="${tone.pale}"/>
<rect x="200" y="222" width="68" height="14" rx="7" fill="${tone.ink}"/>
<rect x="104" y="222" width="104" height="14" rx="7" fill="${tone.ink}"/>
<path d="M222 236h10v12h-10zM236 236h10v12h-10z" fill="${tone.ink}"/>
<path d="M227 250v26M241 250v26" stroke="${tone.light}" stroke-width="3" stroke-linecap="round"/>
<path d="M204 278h60v24c0 20-12 30-30 30s-30-10-30-30z" fill="${tone.pale}"/>
<path d="M262 286h8c14 0 14 26-6 26" fill="none" stroke="${tone.pale}" stroke-width="7"/>
<rect x="132" y="344" width="216" height="28" rx="10" fill="${tone.ink}"/>
<rect x="176" y="336" width="116" height="8" rx="4" fill="${tone.light}"/>`
}

/** A lidded casserole, slightly steaming. */
export function drawCasserole(tone: Tone): string {
  return `
<path d="M204 128c-14-16 12-24 0-42M240 122c-14-16 12-26 0-46M276 128c-14-16 12-24 0-42" fill="none" stroke="${tone.shadow}" stroke-width="7" stroke-linecap="round"/>
<path d="M128 262H98c-16 0-16 36 0 36h30M352 262h30c16 0 16 36 0 36h-30" fill="none" stroke="${tone.dark}" stroke-width="14"/>
<path d="M122 236h236v84c0 32-22 52-54 52H176c-32 0-54-20-54-52z" fill="${tone.main}"/>
<path d="M300 236h58v84c0 32-22 52-54 52h-34c24-8 30-28 30-52z" fill="${tone.dark}" opacity=".6"/>
<path d="M146 262v54c0 14 6 24 14 30" fill="none" stroke="${tone.light}" stroke-width="8" stroke-linecap="round"/>
<path d="M124 228c6-38 54-60 116-60s110 22 116 60z" fill="${tone.main}"/>
<path d="M172 206c14-12 38-20 64-20" fill="none" stroke="${tone.light}" stroke-width="8" stroke-linecap="round"/>
<rect x="112" y="224" width="256" height="18" rx="9" fill="${tone.dark}"/>
<rect x="230" y="152" width="20" height="20" fill="${tone.ink}"/>
<rect x="212" y="138" width="56" height="20" rx="10" fill="${tone.ink}"/>`
}

/** A frying pan seen from above, its handle to the lower right, with a sprig of herbs. */
export function drawFryingPan(tone: Tone): string {
  return `
<path d="M286 280l90 84" stroke="${tone.ink}" stroke-width="30" stroke-linecap="round"/>
<path d="M340 330l36 34" stroke="${tone.main}" stroke-width="30" stroke-linecap="round"/>
<circle cx="370" cy="358" r="6" fill="${tone.background}"/>
<circle cx="214" cy="214" r="122" fill="${tone.dark}"/>
<circle cx="214" cy="210" r="120" fill="${tone.main}"/>
<circle cx="214" cy="210" r="100" fill="${tone.ink}"/>
<circle cx="214" cy="210" r="84" fill="none" stroke="${tone.pale}" stroke-width="2" opacity=".18"/>
<path d="M150 176a76 76 0 0 1 50-38" fill="none" stroke="${tone.pale}" stroke-width="7" stroke-linecap="round" opacity=".3"/>
<path d="M176 258c24-26 46-54 78-86" fill="none" stroke="#8fae7f" stroke-width="5" stroke-linecap="round"/>
<path d="M196 236c-22-2-28-16-28-28 18 0 28 10 28 28zM218 210c-20-4-24-18-22-30 16 2 24 14 22 30zM204 228c6 20 20 24 32 22-2-16-14-24-32-22zM228 200c6 18 20 22 32 20-2-16-14-24-32-20z" fill="#a9c59a"/>`
}

/** A table lamp with a fabric shade, lit. */
export function drawTableLamp(tone: Tone): string {
  return `
<path d="M142 226h196l54 140H88z" fill="${tone.pale}" opacity=".55"/>
<rect x="233" y="220" width="14" height="128" fill="${tone.ink}"/>
<path d="M214 348c0-22 12-46 26-46s26 24 26 46z" fill="${tone.main}"/>
<rect x="178" y="344" width="124" height="24" rx="12" fill="${tone.dark}"/>
<path d="M188 96h104l50 132H138z" fill="${tone.main}"/>
<path d="M260 96h32l50 132h-56z" fill="${tone.dark}" opacity=".55"/>
<path d="M200 112l-36 98" stroke="${tone.light}" stroke-width="8" stroke-linecap="round"/>
<path d="M138 228h204l3 10H135z" fill="${tone.light}"/>
<path d="M292 238v44" stroke="${tone.ink}" stroke-width="3"/>
<circle cx="292" cy="288" r="6" fill="${tone.ink}"/>`
}

/** A pendant lamp over its pool of light. */
export function drawPendantLamp(tone: Tone): string {
  return `
<path d="M152 246h176l66 122H86z" fill="${tone.pale}" opacity=".6"/>
<path d="M240 0v112" stroke="${tone.ink}" stroke-width="5"/>
<rect x="222" y="104" width="36" height="30" rx="8" fill="${tone.ink}"/>
<path d="M126 244c0-68 46-114 114-114s114 46 114 114z" fill="${tone.main}"/>
<path d="M266 133c52 12 88 54 88 111h-62c0-52-4-86-26-111z" fill="${tone.dark}" opacity=".55"/>
<path d="M152 220c6-32 24-54 50-64" fill="none" stroke="${tone.light}" stroke-width="9" stroke-linecap="round"/>
<rect x="118" y="238" width="244" height="14" rx="7" fill="${tone.dark}"/>
<path d="M208 252a32 32 0 0 0 64 0z" fill="#fff3cf"/>`
}
