/** Pictures of the gallery's invented products: one square, one tall, one wide, so that every shape meets every frame. */
const PICTURES: ReadonlyMap<string, string> = new Map([
  [
    'square.svg',
    draw(
      480,
      480,
      '<path d="M176 96h128l56 136H120z" fill="#d9a441"/><path d="M232 232h16v136h-16z" fill="#3b3a37"/>' +
        '<path d="M168 368h144v20H168z" fill="#3b3a37"/>',
    ),
  ],
  [
    'tall.svg',
    draw(
      240,
      640,
      '<path d="M96 40h48v96l40 72v352q0 24-24 24H80q-24 0-24-24V208l40-72z" fill="#2f6f6a"/>' +
        '<path d="M56 288h128v152H56z" fill="#f0e7d6"/><path d="M80 328h80v12H80zm0 32h56v12H80z" fill="#2f6f6a"/>',
    ),
  ],
  [
    'wide.svg',
    draw(
      720,
      270,
      '<path d="M60 96h600v36H60z" fill="#8a4b2f"/><path d="M60 52h600v28H60z" fill="#a5623f"/>' +
        '<path d="M112 132h28v106h-28zm468 0h28v106h-28z" fill="#3b3a37"/>',
    ),
  ],
  // Arrives, and is no picture: what a reader gets whose shop has taken the file away.
  ['broken.svg', ''],
])

/** The SVG document of a name; `undefined` for a name that is none. */
export function findGalleryPicture(name: string): string | undefined {
  return PICTURES.get(name)
}

function draw(width: number, height: number, drawing: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">${drawing}</svg>\n`
}
