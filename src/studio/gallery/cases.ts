import type { Product } from '../../catalog/contract.ts'
import { ON_SALE, PRODUCTS } from './fixtures.ts'

/** One hard case: what it is called, what it tries, and the options and data that make it. */
export type GalleryCase = Readonly<{
  id: string
  title: string
  note: string
  /** Options as a publisher would write them. */
  query: Readonly<{ box: string; grid: string }>
  product: Product
  onSale: readonly Product[]
  /** Shown in a column of 280 px, whatever column was chosen. */
  isNarrow: boolean
  /** Are the prices older than they may be shown? */
  isOld: boolean
  /** Frames have links to other pages, fragments have none; a case about them shows what a frame shows. */
  isPaged: boolean
}>

type CaseSketch = Pick<GalleryCase, 'id' | 'title' | 'note'> &
  Partial<Pick<GalleryCase, 'query' | 'isNarrow' | 'isOld' | 'isPaged'>> &
  Readonly<{ data?: keyof typeof PRODUCTS }>

/** The accent that a case wears; the page links its rules. */
export const GALLERY_ACCENT = 'ffd400'

const SKETCHES: readonly CaseSketch[] = [
  { id: 'usual', title: 'The usual case', note: 'Some shops on sale, one sold out, two that fold.' },
  { id: 'one', title: 'One offer', note: 'Nothing to compare: no offer is called the best.', data: 'one' },
  {
    id: 'thirty',
    title: 'Thirty offers',
    note: 'All at once, none folded.',
    query: { box: 'limit=30', grid: 'limit=30' },
    data: 'thirty',
  },
  {
    id: 'no-picture',
    title: 'No picture, no brand',
    note: 'A quiet stand-in keeps the place.',
    data: 'bare',
  },
  {
    id: 'broken-picture',
    title: 'Broken picture',
    note: 'The shop has taken the file away.',
    data: 'broken',
  },
  {
    id: 'long',
    title: 'Long words',
    note: 'A title of 200 characters, a shop without a place to break, prices of nine digits.',
    data: 'long',
  },
  {
    id: 'currencies',
    title: 'Three currencies',
    note: 'Only one of them is shown: currency=GBP.',
    query: { box: 'currency=GBP', grid: 'currency=GBP' },
    data: 'currencies',
  },
  {
    id: 'sold-out',
    title: 'All out of stock',
    note: 'Shown, and said; a grid shows them with stock=any only.',
    query: { box: '', grid: 'stock=any' },
    data: 'soldOut',
  },
  {
    id: 'old-prices',
    title: 'Prices too old',
    note: 'No number is shown that may be wrong; the links stay.',
    isOld: true,
  },
  {
    id: 'right-to-left',
    title: 'Right to left',
    note: 'Arabic words, names in two scripts.',
    query: { box: 'locale=ar', grid: 'locale=ar' },
    data: 'arabic',
  },
  { id: 'narrow', title: 'A column of 280 px', note: 'The narrowest that is promised.', isNarrow: true },
  {
    id: 'accent',
    title: 'An accent',
    note: `accent=${GALLERY_ACCENT}: the text on it and in it keeps its contrast.`,
    query: { box: `accent=${GALLERY_ACCENT}`, grid: `accent=${GALLERY_ACCENT}` },
  },
  {
    id: 'shadow',
    title: 'Isolated',
    note: 'isolate=shadow: no style of the page reaches it.',
    query: { box: 'isolate=shadow', grid: 'isolate=shadow' },
  },
  {
    id: 'paged',
    title: 'As a frame',
    note: 'A page in the middle: links to the pages before and after.',
    query: { box: 'limit=2', grid: 'page=2&limit=2' },
    isPaged: true,
  },
]

/** Every case, the usual one first. */
export const GALLERY_CASES: readonly GalleryCase[] = SKETCHES.map(({ data = 'usual', ...sketch }) => ({
  query: { box: '', grid: '' },
  isNarrow: false,
  isOld: false,
  isPaged: false,
  ...sketch,
  product: PRODUCTS[data],
  onSale: ON_SALE[data],
}))
