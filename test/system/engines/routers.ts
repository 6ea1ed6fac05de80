import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'esbuild'
import { beforeAll, expect, test } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'
import { toHtmlResponse } from '../../helpers/page-server.ts'
import type { EnginePage } from './engine.ts'
import { toPlaceholder, useLoaderPages, listProducts } from './loader-pages.ts'
import { defineSuite, run, waitUntil } from './use-engine.ts'

/** Has the frameworks. */
const EMBED_FOLDER = join(PACKAGE_FOLDER, 'packages/embed')

/** Files of routers and morphs, by their paths on the publisher's server. */
const LIBRARIES: Readonly<Record<string, string>> = {
  '/turbo.js': '@hotwired/turbo/dist/turbo.es2017-umd.js',
  '/htmx.js': 'htmx.org/dist/htmx.min.js',
  '/htmx2.js': 'htmx2/dist/htmx.min.js',
  '/idiomorph.js': 'idiomorph/dist/idiomorph.min.js',
  '/alpine.js': 'alpinejs/dist/cdn.min.js',
  '/alpine-morph.js': '@alpinejs/morph/dist/cdn.min.js',
  '/swup.js': 'swup/dist/Swup.umd.js',
  '/barba.js': '@barba/core/dist/barba.umd.js',
}

/** Routers that replace a part of the page, as their guides show them. */
const ROUTERS = [
  { name: 'Turbo Drive', head: '<script src="/turbo.js"></script>', attributes: '', start: '' },
  {
    name: 'htmx 2, boosted',
    head: '<script src="/htmx2.js"></script>',
    attributes: 'hx-boost="true"',
    start: '',
  },
  {
    name: 'htmx 4, boosted',
    head: '<script src="/htmx.js"></script>',
    attributes: 'hx-boost:inherited="true"',
    start: '',
  },
  {
    name: 'Swup',
    head: '<script src="/swup.js"></script>',
    attributes: '',
    start: '<script>new Swup({ animationSelector: false })</script>',
  },
  {
    name: 'Barba',
    head: '<script src="/barba.js"></script>',
    attributes: 'data-barba="wrapper"',
    start: '<script>barba.init()</script>',
  },
] as const

/** What frameworks render on the server, and use in the browser when the page is ready. */
const ARTICLE = `<article><h1>Article</h1>${toPlaceholder('1').replace(' >', '>')}<p>Text</p></article>`
const PROPS = Object.fromEntries(
  [...toPlaceholder('1').matchAll(/ (data-[\w-]+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
)
const FRAMEWORKS = {
  react: `import { createElement as h, useState } from 'react'
    import { hydrateRoot } from 'react-dom/client'
    function Article() {
      const [gtin, setGtin] = useState('1')
      window.setGtin = setGtin
      return h('article', null, h('h1', null, 'Article'), h('div', { ...${JSON.stringify(PROPS)}, 'data-gtin': gtin }), h('p', null, 'Text'))
    }
    hydrateRoot(document.querySelector('#root'), h(Article), { onRecoverableError: (error) => problems.push(String(error)) })
    window.isHydrated = true`,
  vue: `import { createSSRApp, h, ref } from 'vue'
    const gtin = ref('1')
    window.setGtin = (value) => { gtin.value = value }
    createSSRApp({ render: () => h('article', [h('h1', 'Article'), h('div', { ...${JSON.stringify(PROPS)}, 'data-gtin': gtin.value }), h('p', 'Text')]) }).mount('#root')
    window.isHydrated = true`,
} as const

const toArticle = (gtin: string, other: string): string =>
  `<main id="swup" data-barba="container" data-barba-namespace="n${gtin}"><h1>Article ${gtin}</h1>${toPlaceholder(gtin)}<a href="${other}">Other</a></main>`

export const routersSuite = defineSuite('loader, routers and frameworks', (engine) => {
  const pages = useLoaderPages(engine)
  beforeAll(async () => {
    for (const [path, file] of Object.entries(LIBRARIES)) {
      const body = await readFile(join(PACKAGE_FOLDER, 'test/system/node_modules', file))
      pages.publisher().responses.set(path, { type: 'text/javascript', body })
    }
    for (const [name, contents] of Object.entries(FRAMEWORKS)) {
      const { outputFiles } = await build({
        stdin: { contents, resolveDir: EMBED_FOLDER },
        absWorkingDir: EMBED_FOLDER,
        bundle: true,
        write: false,
        define: {
          'process.env.NODE_ENV': '"development"',
          __VUE_OPTIONS_API__: 'true',
          __VUE_PROD_DEVTOOLS__: 'false',
          __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'true',
        },
        alias: { vue: 'vue/dist/vue.runtime.esm-bundler.js' },
        logLevel: 'silent',
      })
      pages.publisher().responses.set(`/${name}.js`, {
        type: 'text/javascript',
        body: Buffer.from(outputFiles[0]?.contents ?? []),
      })
    }
  })

  const openRouter = async ({ head, attributes, start }: (typeof ROUTERS)[number]): Promise<EnginePage> => {
    const toRouted = (body: string): string =>
      pages
        .toPage(body, start)
        .replace('</head><body>', `${head}${pages.script()}</head><body ${attributes}>`)
    pages.publisher().responses.set('/second', toHtmlResponse(toRouted(toArticle('2', '/'))))
    const page = await pages.open(toArticle('1', '/second'), '')
    pages.publisher().responses.set('/', toHtmlResponse(toRouted(toArticle('1', '/second'))))
    await page.goto(`${pages.publisher().origin}/`)
    await run(page, 'isSameDocument = true')
    return page
  }

  test.each(ROUTERS)(
    '$name, there, back and there again - one frame each, of its article',
    async (router) => {
      const page = await openRouter(router)
      await expect.poll(() => listProducts(page)).toEqual(['1'])
      await page.click('main a')
      await expect.poll(() => listProducts(page)).toEqual(['2'])
      await run(page, 'history.back()')
      await waitUntil(page, 'document.querySelector("h1").textContent === "Article 1"')
      await expect.poll(() => listProducts(page)).toEqual(['1'])
      await run(page, 'history.forward()')
      await waitUntil(page, 'document.querySelector("h1").textContent === "Article 2"')
      await expect.poll(() => listProducts(page)).toEqual(['2'])
      expect(await page.evaluate('isSameDocument')).toBe(true)
    },
  )

  const MORPHS = [
    ['idiomorph', '<script src="/idiomorph.js"></script>', 'Idiomorph.morph(main, next)'],
    [
      'Alpine morph, as in Livewire',
      '<script src="/alpine-morph.js" defer></script><script src="/alpine.js" defer></script>',
      'Alpine.morph(main, next)',
    ],
  ] as const
  test.each(MORPHS)('%s, the same article and another one - one frame', async (_name, head, morph) => {
    const page = await pages.open(`${head}<main>${toPlaceholder('1')}<p>Text</p></main>`)
    await expect.poll(() => listProducts(page)).toEqual(['1'])
    for (const gtin of ['1', '2']) {
      await run(
        page,
        `const main = document.querySelector('main'); const next = '<main>${toPlaceholder(gtin)}<p>Other text</p></main>'; ${morph}`,
      )
      await expect.poll(() => listProducts(page)).toEqual([gtin])
    }
  })

  test('Alpine, a bound product - the frame of the product', async () => {
    const box = toPlaceholder('1').replace('data-gtin="1"', ':data-gtin="gtin"')
    const page = await pages.open(
      `<script src="/alpine.js" defer></script><main x-data="{ gtin: '1' }"><button x-on:click="gtin = '2'">Next</button>${box}</main>`,
    )
    await expect.poll(() => listProducts(page)).toEqual(['1'])
    await page.click('button')
    await expect.poll(() => listProducts(page)).toEqual(['2'])
  })

  test.each(['react', 'vue'])(
    '%s, rendered on the server - no hydration error, then its changes',
    async (name) => {
      const page = await pages.open(
        `<div id="root">${ARTICLE}</div>`,
        `${pages.script()}<script src="/${name}.js" defer></script>`,
      )
      await waitUntil(page, 'window.isHydrated')
      await expect.poll(() => listProducts(page)).toEqual(['1'])
      expect(await page.evaluate('[...problems, ...warnings]')).toEqual([])
      await run(page, 'setGtin("2")')
      await expect.poll(() => listProducts(page)).toEqual(['2'])
    },
  )
})
