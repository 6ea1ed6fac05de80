import { HOME_PRODUCTS } from './home.ts'
import { LEISURE_PRODUCTS } from './leisure.ts'
import { OUTSIDE_PRODUCTS } from './outside.ts'
import { type SampleProduct, makeSampleGtin, makeSampleProduct } from './product.ts'

/** Every product of the sample. */
export const SAMPLE_PRODUCTS: readonly SampleProduct[] = [
  ...LEISURE_PRODUCTS,
  ...HOME_PRODUCTS,
  ...OUTSIDE_PRODUCTS,
].map(makeSampleProduct)

/** The product that the studio shows first: a picture, eight shops, some of them on sale. */
export const SHOWCASE_GTIN: string = makeSampleGtin(100_102)

/** The product that all ten shops sell, each three times: thirty offers. */
export const EVERYWHERE_GTIN: string = makeSampleGtin(300_101)
