import { type SampleListing, findSampleListing } from './listing.ts'
import { findSamplePicture } from './pictures/pictures.ts'
import { SAMPLE_SHOWCASE } from './put-sample.ts'

/** What a process that serves HTTP needs of the sample data. */
export type SampleDemo<T> = Readonly<{
  findPicture(name: string): string | undefined
  findListing(pageUrl: string): SampleListing | undefined
  showcase: Readonly<{ channelId: string; gtin: string }>
  readContent: T
}>

/** `publicUrl` is the address that the data was made for; `readContent` asks the embedded catalog. */
export function createDemo<T>(publicUrl: string, readContent: T): SampleDemo<T> {
  return {
    findPicture: findSamplePicture,
    findListing: (pageUrl) => findSampleListing(pageUrl, publicUrl),
    showcase: SAMPLE_SHOWCASE,
    readContent,
  }
}
