import type { WireProduct } from '../../catalog/contract.ts'
import type { ProductPage } from './catalog-store.ts'
import type { ChannelView } from './channel-view.ts'
import type { RunNow } from './open-sqlite.ts'
import { type PageStep, type StepAnswer, type ViewQuery, makePage, takeSteps } from './page-steps.ts'
import { type ProductRow, toProduct } from './product-rows.ts'
import { type GtinQuery, findGtins } from './visible-gtins.ts'

/** A product with its offers, as JSON: rows of their own would cost several times as much to hand over. */
const SELECT_PRODUCT = `
  select p.gtin, p.title, p.brand, p.images,
    (select json_group_array(json_array(o.network_id, o.merchant_id, o.network_channel_id, o.price, o.old_price,
      o.currency, o.availability, o.url)) from offers o where o.gtin = p.gtin) as offers`

const SELECT_ONE = `${SELECT_PRODUCT} from products p where p.gtin = ?`
const SELECT_AFTER = `${SELECT_PRODUCT} from products p where p.gtin > ? order by p.gtin limit ?`
const SELECT_THESE = `${SELECT_PRODUCT} from json_each(?) g join products p on p.gtin = g.value order by p.gtin`

/** The next GTINs of each strand; `distinct`, because a shop may offer a product several times. */
const SELECT_NEXT = `
  select (select json_group_array(gtin) from (
    select distinct gtin from offers
    where merchant_id = s.value ->> 0 and network_id = s.value ->> 1 and network_channel_id = s.value ->> 2
      and gtin > s.value ->> 3
    order by gtin limit ?)) as gtins
  from json_each(?) s`

/** A product with the offers that the channel may show; `undefined` when there is none. `gtin` has 14 digits. */
export function findVisibleProduct(read: RunNow, view: ChannelView, gtin: string): WireProduct | undefined {
  const [row] = read<ProductRow>(SELECT_ONE, [gtin])
  return row === undefined ? undefined : toProduct(row, view)
}

/** A page of the products that the channel may show. All of it is of one state when a snapshot is open. */
export function fetchProductPage(read: RunNow, query: ViewQuery): ProductPage {
  return takeSteps(makePage(query), (step) => answerStep(read, step))
}

/** See `findGtins`. */
export function findVisibleGtins(read: RunNow, query: GtinQuery): string[] {
  return takeSteps(findGtins(query), (step) => answerStep(read, step))
}

function answerStep(read: RunNow, step: PageStep): StepAnswer {
  if (step.want === 'strands') {
    const wanted = step.strands.map(({ key, after }) => [...key, after])
    const rows = read<{ gtins: string }>(SELECT_NEXT, [step.length, JSON.stringify(wanted)])
    return { products: [], gtins: rows.map(({ gtins }) => JSON.parse(gtins) as string[]) }
  }
  const products =
    step.want === 'after'
      ? read<ProductRow>(SELECT_AFTER, [step.gtin, step.count])
      : read<ProductRow>(SELECT_THESE, [JSON.stringify(step.gtins)])
  return { products, gtins: [] }
}
