/** What the types of the package accept and refuse. */
import { DealGrid, WhereToBuy } from '@vitrine/embed/vue'
import { type GlobalComponents, h } from 'vue'

const vitrine = { server: 'https://widgets.example', channel: '952a0000-0000-4000-8000-000000000001' }

export const accepted = [
  h(WhereToBuy, { server: vitrine.server, channel: vitrine.channel, gtin: '1', layout: 'card' }),
  h(DealGrid, { server: vitrine.server, channel: vitrine.channel, min_discount: 20, class: 'deals' }),
]

// @ts-expect-error -- a box has this layout
export const refused = h(DealGrid, { server: vitrine.server, channel: vitrine.channel, layout: 'card' })

export const inTemplates: GlobalComponents['where-to-buy'] = WhereToBuy
