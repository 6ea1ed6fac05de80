import { findSampleListing } from '../catalog-service/sample/listing.ts'
import { findSamplePicture } from '../catalog-service/sample/pictures/pictures.ts'
import { SAMPLE_SHOWCASE } from '../catalog-service/sample/put-sample.ts'
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
