/** A page of any browser engine, or of Playwright. */
type Evaluating = Readonly<{ evaluate(expression: string): Promise<unknown> }>

/**
 * Load all pictures of a page, including those below the fold. Wait until each has loaded or failed and the page is painted.
 * Do not wait for "network idle": under load a browser may never report it.
 */
export async function loadPictures(page: Evaluating): Promise<void> {
  await page.evaluate(`(async () => {
    const pictures = [...document.images]
    for (const picture of pictures) Object.assign(picture, { loading: 'eager', decoding: 'sync' })
    await Promise.all(pictures.map((picture) => picture.complete || new Promise((done) => {
      picture.addEventListener('load', done)
      picture.addEventListener('error', done)
    })))
    // A picture of a failed address cannot be decoded.
    await Promise.all(pictures.map((picture) => picture.decode().catch(() => {})))
    await document.fonts.ready
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
  })()`)
}
