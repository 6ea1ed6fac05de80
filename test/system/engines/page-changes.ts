import { expect, test } from 'vitest'
import { toPlaceholder, useLoaderPages, listProducts } from './loader-pages.ts'
import { defineSuite, run, waitUntil } from './use-engine.ts'

/** What scripts do with pages, and the products that the page shows afterwards. Before, the page shows product 1 in `main`. */
const CHANGES: readonly (readonly [title: string, statements: string, gtins: readonly string[]])[] = [
  ['router that keeps the element, with another product', 'box.dataset.gtin = "2"', ['2']],
  [
    'two changes in one turn, the second back to the first product',
    'box.dataset.gtin = "2"; box.dataset.gtin = "1"',
    ['1'],
  ],
  ['element that is no longer a placeholder', 'delete box.dataset.vitrine', []],
  ['element that loses its product', 'delete box.dataset.gtin', []],
  ['element that becomes a placeholder', 'main.append(makeLate())', ['1', '2']],
  ['morph that empties the element', 'box.innerHTML = ""', ['1']],
  ['morph that replaces the frame by text', 'box.textContent = "Prices"', ['1']],
  ['morph that empties and changes the element', 'box.innerHTML = ""; box.dataset.gtin = "3"', ['3']],
  ['router that restores the HTML that it saved', 'main.innerHTML = main.innerHTML', ['1']],
  ['saved HTML of another product', 'main.innerHTML = main.innerHTML.replaceAll("/1", "/2")', ['1']],
  ['slider that clones its slides', 'main.append(box.cloneNode(true))', ['1', '1']],
  [
    'clone with another product',
    'copy = box.cloneNode(true); copy.dataset.gtin = "2"; main.append(copy)',
    ['1', '2'],
  ],
  ['frame that a script doubles', 'box.append(box.firstChild.cloneNode())', ['1']],
  [
    'element that moves into another one',
    'wrapper = document.createElement("section"); main.append(wrapper); wrapper.append(box)',
    ['1'],
  ],
  ['element that leaves and returns', 'box.remove(); setTimeout(() => main.append(box))', ['1']],
  ['page that is replaced', `document.body.innerHTML = '${toPlaceholder('2')}'`, ['2']],
]

export const pageChangesSuite = defineSuite('loader, pages that change', (engine) => {
  const pages = useLoaderPages(engine)

  test.each(CHANGES)('%s - shows what the page asks for', async (_title, statements, gtins) => {
    const page = await pages.open(`<main>${toPlaceholder('1')}</main>`)
    await expect.poll(() => listProducts(page)).toEqual(['1'])
    await run(
      page,
      `main = document.querySelector('main'); box = main.firstChild
       makeLate = () => { const late = document.createElement('p'); setTimeout(() => Object.assign(late.dataset, { channel: box.dataset.channel, gtin: '2', vitrine: 'where-to-buy' })); return late }
       ${statements}`,
    )
    await expect.poll(() => listProducts(page)).toEqual(gtins)
  })

  test('page that was saved with its frame - has one frame, which follows its content', async () => {
    const frame = `<iframe src="${pages.origin()}/embeds/old/where-to-buy/1" style="height:700px"></iframe>`
    const saved = toPlaceholder('1').replace('></div>', `>${frame}</div>`)
    const page = await pages.open(saved)
    await expect.poll(() => listProducts(page)).toEqual(['1'])
  })

  test('frames of others in a placeholder - stay', async () => {
    const other = '<iframe src="about:blank" title="Other"></iframe>'
    const page = await pages.open(toPlaceholder('1').replace('></div>', `>${other}</div>`))
    await waitUntil(page, 'document.querySelectorAll("iframe")[1]?.offsetHeight === 210')
    expect(await page.evaluate('document.querySelector("iframe").title')).toBe('Other')
  })

  test('attributes of others - the frame stays as it is', async () => {
    const page = await pages.open(toPlaceholder('1') + toPlaceholder('2'))
    await expect.poll(() => listProducts(page)).toEqual(['1', '2'])
    await run(
      page,
      `frame = document.querySelector('iframe')
       frame.parentNode.className = 'is-visible'; frame.parentNode.dataset.other = '1'; document.body.dataset.state = 'ready'`,
    )
    // Records of changes arrive in their order.
    await run(page, 'document.querySelectorAll("[data-vitrine]")[1].dataset.gtin = "3"')
    await expect.poll(() => listProducts(page)).toEqual(['1', '3'])
    expect(await page.evaluate('frame.isConnected && document.querySelector("iframe") === frame')).toBe(true)
  })

  test('script that removes each frame - there is an end, with one warning', async () => {
    const page = await pages.open(
      `${toPlaceholder('1')}<script>
        box = document.querySelector('[data-vitrine]'); removed = 0
        new MutationObserver(() => { if (box.firstChild) { removed += 1; box.innerHTML = '' } }).observe(box, { childList: true })
      </script>`,
    )
    await waitUntil(page, 'warnings.length > 0')
    expect(await page.evaluate('warnings')).toEqual(['Vitrine: frames are removed.'])
    expect(await page.evaluate('removed')).toBe(10)
    // Another product is another try.
    await run(page, 'removed = -1000; box.dataset.gtin = "2"')
    await waitUntil(page, 'removed > -1000')
  })

  test('script that changes the product at each frame - the page stays usable', async () => {
    const page = await pages.open(
      `${toPlaceholder('1')}<script>
        box = document.querySelector('[data-vitrine]'); changes = 0
        new MutationObserver(() => { changes += 1; box.dataset.gtin = 1 + changes % 2 }).observe(box, { childList: true })
      </script>`,
    )
    await waitUntil(page, 'changes > 9')
    await page.evaluate('new Promise(requestAnimationFrame)')
    expect(await page.evaluate<number>('changes')).toBeLessThan(25)
  })

  test('height of the frame before - is kept until the next frame has one', async () => {
    const page = await pages.open(`${toPlaceholder('3')}<p>Below</p>`)
    await expect.poll(() => listProducts(page)).toEqual(['3'])
    await run(
      page,
      `box = document.querySelector('[data-vitrine]'); heights = []
       new MutationObserver(() => heights.push(box.offsetHeight)).observe(box, { childList: true, subtree: true, attributes: true })
       box.dataset.gtin = '2'`,
    )
    await expect.poll(() => listProducts(page)).toEqual(['2'])
    expect(await page.evaluate('Math.min(...heights)')).toBe(220)
  })
})

export const serversSuite = defineSuite('loader, servers', (engine) => {
  const pages = useLoaderPages(engine)
  const WITHOUT_SERVER = 'Vitrine needs data-server or embed.js, data-channel, data-gtin(s).'
  const listOrigins = '[...document.querySelectorAll("iframe")].map(({ src }) => new URL(src).origin).join()'

  test('data-server of placeholders - each has its own server', async () => {
    const other = toPlaceholder('2', `data-server="${pages.origin(1)}/"`)
    const page = await pages.open(toPlaceholder('1') + other)
    await expect.poll(() => listProducts(page)).toEqual(['1', '2'])
    expect(await page.evaluate(listOrigins)).toBe(`${pages.origin()},${pages.origin(1)}`)
  })

  test('data-server that is changed - another server', async () => {
    const page = await pages.open(toPlaceholder('1'))
    await expect.poll(() => listProducts(page)).toEqual(['1'])
    await run(page, `document.querySelector('[data-vitrine]').dataset.server = '${pages.origin(1)}'`)
    await waitUntil(page, `${listOrigins} === '${pages.origin(1)}'`)
    await expect.poll(() => listProducts(page)).toEqual(['1'])
  })

  test('script in a combined file with data-server - the server of the script', async () => {
    const page = await pages.open(
      toPlaceholder('1'),
      `<script src="/combined.js" data-server="${pages.origin(1)}"></script>`,
    )
    await expect.poll(() => listProducts(page)).toEqual(['1'])
    expect(await page.evaluate(listOrigins)).toBe(pages.origin(1))
  })

  test.each([
    ['file', '<script src="/combined.js"></script>'],
    ['module', '<script type="module" src="/combined.js"></script>'],
    [
      'evaluated text',
      '<script>fetch("/combined.js").then((r) => r.text()).then((text) => (0, eval)(text))</script>',
    ],
  ])('combined %s without data-server - one warning and no frame', async (_kind, script) => {
    const page = await pages.open(toPlaceholder('1') + toPlaceholder('2'), script)
    await waitUntil(page, 'warnings.length > 0')
    // Frames begin in the next idle moment.
    await page.evaluate(
      'new Promise((done) => (window.requestIdleCallback ?? setTimeout)(() => setTimeout(done)))',
    )
    expect(await page.evaluate('warnings')).toEqual([WITHOUT_SERVER])
    expect(await page.evaluate('document.querySelector("iframe")')).toBeNull()
  })

  test('combined file, placeholders with data-server - are shown', async () => {
    const page = await pages.open(
      toPlaceholder('1') + toPlaceholder('2', `data-server="${pages.origin(1)}"`),
      '<script src="/combined.js"></script>',
    )
    await expect.poll(() => listProducts(page)).toEqual(['2'])
    expect(await page.evaluate('warnings')).toEqual([WITHOUT_SERVER])
  })

  test.each(['javascript:alert(1)', 'data:text/html,x', 'not a server'])(
    'data-server="%s" - a warning and no frame',
    async (server) => {
      const page = await pages.open(toPlaceholder('1', `data-server="${server}"`))
      await waitUntil(page, 'warnings.length > 0')
      expect(await page.evaluate('document.querySelector("iframe")')).toBeNull()
    },
  )
})
