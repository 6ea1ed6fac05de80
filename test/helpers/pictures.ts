import type { Page } from 'playwright-core'

/**
 * Loads every picture of a page, those below the fold too, and waits until each is there or has failed, and until the
 * page has been painted with them. Of a quiet network a browser under load may never tell.
 */
export async function loadPictures(page: Page): Promise<void> {
  await page.evaluate(`(async () => {
    const pictures = [...document.images]
    for (const picture of pictures) picture.loading = 'eager'
    await Promise.all(pictures.map((picture) => picture.complete || new Promise((done) => {
      picture.addEventListener('load', done)
      picture.addEventListener('error', done)
    })))
    await document.fonts.ready
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
  })()`)
}
