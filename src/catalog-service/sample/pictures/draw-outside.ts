import type { Tone } from './tones.ts'

/** A day pack from the front. */
export function drawBackpack(tone: Tone): string {
  return `
<path d="M206 118c0-40 68-40 68 0" fill="none" stroke="${tone.dark}" stroke-width="12" stroke-linecap="round"/>
<path d="M150 236c-26 6-34 26-34 54v44c0 14 8 20 20 20h20zM330 236c26 6 34 26 34 54v44c0 14-8 20-20 20h-20z" fill="${tone.dark}"/>
<path d="M142 196c0-56 38-88 98-88s98 32 98 88v140c0 24-14 38-38 38H180c-24 0-38-14-38-38z" fill="${tone.main}"/>
<path d="M142 196c0-56 38-88 98-88s98 32 98 88v16c-30 20-62 28-98 28s-68-8-98-28z" fill="${tone.light}"/>
<path d="M142 210c30 20 62 28 98 28s68-8 98-28" fill="none" stroke="${tone.dark}" stroke-width="4"/>
<path d="M204 228v44M276 228v44" stroke="${tone.ink}" stroke-width="11"/>
<rect x="195" y="256" width="18" height="22" rx="4" fill="${tone.pale}"/>
<rect x="267" y="256" width="18" height="22" rx="4" fill="${tone.pale}"/>
<rect x="168" y="284" width="144" height="72" rx="18" fill="${tone.dark}"/>
<path d="M184 304h112" stroke="${tone.light}" stroke-width="5" stroke-linecap="round"/>
<path d="M290 304v16" stroke="${tone.pale}" stroke-width="5" stroke-linecap="round"/>
<rect x="218" y="148" width="44" height="28" rx="5" fill="${tone.pale}"/>
<path d="M230 168l10-12 10 12z" fill="${tone.main}"/>`
}

/** A running shoe from the side. */
export function drawRunningShoe(tone: Tone): string {
  return `
<path d="M96 318c-2-48 6-86 30-120 4-6 12-6 16 0 16 22 40 26 62 10 6-4 12-2 16 4 22 38 56 62 106 74 40 10 62 18 64 40z" fill="${tone.main}"/>
<path d="M96 318c-2-48 6-86 30-120 4-6 12-6 16 0 4 6 9 10 14 14-24 28-32 64-28 106z" fill="${tone.dark}"/>
<path d="M306 326c2-22 14-38 36-36 30 8 46 18 48 36z" fill="${tone.dark}"/>
<path d="M204 208c6-4 12-2 16 4 22 38 56 62 106 74l-20 8c-54-8-96-34-118-76z" fill="${tone.light}"/>
<path d="M206 240l24-16M222 258l24-17M241 274l23-19M264 287l20-21" stroke="${tone.pale}" stroke-width="8" stroke-linecap="round"/>
<path d="M156 326c4-28 20-52 40-66M188 326c4-20 14-36 30-48" fill="none" stroke="${tone.light}" stroke-width="9" stroke-linecap="round"/>
<path d="M92 318h302c6 0 8 6 6 14-6 22-20 34-44 34H128c-24 0-38-16-38-40 0-4 0-8 2-8z" fill="${tone.pale}"/>
<path d="M92 344c6 14 18 22 36 22h228c18 0 32-8 40-22-16 6-34 4-54 4H140c-20 0-36 2-48-4z" fill="${tone.ink}"/>
<path d="M112 334h92" stroke="${tone.light}" stroke-width="5" stroke-linecap="round"/>`
}

/** A crankset: chainring with teeth, five arms, crank and pedal. */
export function drawCrankset(tone: Tone): string {
  const arms = [0, 72, 144, 216, 288]
    .map(
      (degrees) =>
        `<path d="M217 216l-7-84h14z" fill="${tone.dark}" transform="rotate(${degrees} 217 216)"/>`,
    )
    .join('')
  return `
<circle cx="217" cy="216" r="120" fill="none" stroke="${tone.main}" stroke-width="16" stroke-dasharray="11.2 9.744"/>
<circle cx="217" cy="216" r="106" fill="none" stroke="${tone.main}" stroke-width="18"/>
<circle cx="217" cy="216" r="90" fill="none" stroke="${tone.light}" stroke-width="5"/>
${arms}
<circle cx="217" cy="216" r="40" fill="${tone.dark}"/>
<path d="M200 234l30-34 132 116c12 12-8 38-24 28z" fill="${tone.ink}"/>
<path d="M226 224l106 92" stroke="${tone.light}" stroke-width="5" stroke-linecap="round" opacity=".6"/>
<circle cx="217" cy="216" r="22" fill="${tone.light}"/>
<circle cx="217" cy="216" r="9" fill="${tone.ink}"/>
<rect x="312" y="320" width="92" height="32" rx="10" fill="${tone.main}"/>
<path d="M330 320v32M348 320v32M368 320v32M386 320v32" stroke="${tone.dark}" stroke-width="5"/>
<circle cx="345" cy="328" r="8" fill="${tone.pale}"/>`
}

/** A bicycle saddle on its post. */
export function drawSaddle(tone: Tone): string {
  return `
<path d="M222 262h28v106h-28z" fill="${tone.ink}"/>
<path d="M222 262h9v106h-9z" fill="${tone.light}" opacity=".5"/>
<path d="M150 216c24 44 60 48 92 48 44 0 66-16 108-34" fill="none" stroke="${tone.ink}" stroke-width="9" stroke-linecap="round"/>
<rect x="206" y="250" width="62" height="26" rx="8" fill="${tone.dark}"/>
<circle cx="237" cy="263" r="6" fill="${tone.pale}"/>
<path d="M100 164c-6-26 22-42 60-36 40 6 70 28 120 40 40 10 84 4 104 20 14 12 4 30-18 34-54 10-110 2-160-4-48-6-98-18-106-54z" fill="${tone.main}"/>
<path d="M100 164c8 36 58 48 106 54 50 6 106 14 160 4 18-3 28-16 24-26-6 10-24 12-44 12-60 2-110-6-160-16-44-8-74-16-86-28z" fill="${tone.dark}"/>
<path d="M134 150c30-8 60 10 92 24" fill="none" stroke="${tone.light}" stroke-width="8" stroke-linecap="round"/>
<circle cx="122" cy="168" r="5" fill="${tone.pale}"/><circle cx="140" cy="182" r="5" fill="${tone.pale}"/>
<circle cx="362" cy="208" r="5" fill="${tone.pale}"/>`
}

/** A watering can with a long spout. */
export function drawWateringCan(tone: Tone): string {
  return `
<path d="M206 238c0-88 108-96 122-4" fill="none" stroke="${tone.dark}" stroke-width="13"/>
<path d="M330 250c76-6 84 94 6 98" fill="none" stroke="${tone.dark}" stroke-width="15" stroke-linecap="round"/>
<path d="M196 344L86 206l22-14 104 92z" fill="${tone.main}"/>
<path d="M196 344L86 206l8-5 110 118z" fill="${tone.dark}" opacity=".55"/>
<ellipse cx="94" cy="196" rx="34" ry="13" fill="${tone.ink}" transform="rotate(-34 94 196)"/>
<path d="M190 232h156l14 120c2 14-6 20-18 20H194c-12 0-20-6-18-20z" fill="${tone.main}"/>
<path d="M308 232h38l14 120c2 14-6 20-18 20h-32c8-40 6-90-2-140z" fill="${tone.dark}" opacity=".55"/>
<path d="M208 256l-8 82" stroke="${tone.light}" stroke-width="9" stroke-linecap="round"/>
<rect x="182" y="224" width="172" height="18" rx="9" fill="${tone.light}"/>
<path d="M70 232c-6 10-8 14-8 19a8 8 0 0 0 16 0c0-5-2-9-8-19zM96 256c-5 9-7 12-7 17a7 7 0 0 0 14 0c0-5-2-8-7-17zM62 284c-5 9-7 12-7 17a7 7 0 0 0 14 0c0-5-2-8-7-17z" fill="#a9c6d6"/>`
}

/** A planter with a large-leaved plant. */
export function drawPlanter(tone: Tone): string {
  return `
<path d="M240 270V150M240 250c-30-10-50-34-62-66M240 244c30-12 48-36 58-70" fill="none" stroke="#5f7f5a" stroke-width="7" stroke-linecap="round"/>
<path d="M240 182c-36-26-36-76 0-112 36 36 36 86 0 112z" fill="#7ea077"/>
<path d="M240 182c36-26 36-76 0-112z" fill="#628460"/>
<path d="M186 206c-44 2-78-26-86-74 46-2 80 26 86 74z" fill="#8fb086"/>
<path d="M186 206c-44 2-78-26-86-74z" fill="#739669"/>
<path d="M292 196c-4-46 22-80 70-90 6 46-22 82-70 90z" fill="#8fb086"/>
<path d="M292 196c48-8 76-44 70-90z" fill="#628460"/>
<path d="M206 262c-34 12-66 0-84-32 36-12 68 0 84 32zM274 262c34 12 66 0 84-32-36-12-68 0-84 32z" fill="#7ea077"/>
<path d="M156 276h168l-18 84c-2 10-8 14-18 14h-96c-10 0-16-4-18-14z" fill="${tone.main}"/>
<path d="M280 276h44l-18 84c-2 10-8 14-18 14h-28c12-26 20-60 20-98z" fill="${tone.dark}" opacity=".6"/>
<rect x="142" y="256" width="196" height="32" rx="10" fill="${tone.dark}"/>
<rect x="142" y="256" width="196" height="16" rx="8" fill="${tone.light}"/>
<path d="M180 304l10 46" stroke="${tone.light}" stroke-width="8" stroke-linecap="round"/>`
}
