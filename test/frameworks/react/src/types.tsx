/** What the types of the package accept and refuse. */
import type { Click } from '@vitrine/embed'
import { RoundUp, WhereToBuy } from '@vitrine/embed/react'

const vitrine = { server: 'https://widgets.example', channel: '952a0000-0000-4000-8000-000000000001' }

export const accepted = [
  <WhereToBuy key="component" {...vitrine} gtin="1" layout="card" limit={3} className="box" />,
  <where-to-buy key="element" {...vitrine} gtin="1" hidden />,
  <RoundUp key="content" {...vitrine} gtins="1,2">
    Our picks
  </RoundUp>,
]

export const refused = [
  // @ts-expect-error -- a grid has this layout
  <WhereToBuy key="layout" {...vitrine} gtin="1" layout="carousel" />,
  // @ts-expect-error -- no product
  <WhereToBuy key="product" {...vitrine} />,
  // @ts-expect-error -- no channel
  <RoundUp key="channel" server="https://widgets.example" gtins="1,2" />,
]

addEventListener('vitrine:click', ({ detail }) => {
  const click: Click = detail
  document.querySelector('deal-grid')?.setAttribute('q', click.merchant)
})
