import {
  SAMPLE_SHOWCASE,
  findSampleListing,
  findSamplePicture,
} from '../catalog-service/sample/sample-data.ts'
import type { Demo } from '../context.ts'

/**
 * What every process that answers needs of the sample data. `publicUrl` is the address that the data was made for;
 * `readContent` asks the embedded catalog.
 */
export function createDemo(publicUrl: string, readContent: Demo['readContent']): Demo {
  return {
    findPicture: findSamplePicture,
    findListing: (pageUrl) => findSampleListing(pageUrl, publicUrl),
    showcase: SAMPLE_SHOWCASE,
    readContent,
  }
}
