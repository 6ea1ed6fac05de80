import { ConfigError } from '../../errors.ts'
import { openPictureConverter } from '../../pictures/convert-picture.ts'
import { findPictureFolder, openPictureFiles } from '../../pictures/picture-files.ts'
import type { CommandContext } from '../command.ts'
import type { CheckReport } from './report.ts'

const SHARP_REMEDY = 'Install Vitrine again without --omit=optional, so that it gets the package sharp.'

/** Check the folder of pictures and the package that resizes them, with `VITRINE_PICTURES=proxy`. */
export async function checkPictures({ config, clock }: CommandContext, report: CheckReport): Promise<void> {
  if (config.pictures === 'direct') return
  const folder = findPictureFolder(config.database)
  try {
    await openPictureFiles({ folder, maxBytes: config.picturesMaxBytes, clock })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return report.addProblem(
      'pictures',
      `cannot write to the folder "${folder}"`,
      "Give the server's user write access to it.",
    )
  }
  const { convert } = await openPictureConverter(clock)
  if (convert === null)
    report.addOk('pictures', `served from "${folder}" in their original size`, SHARP_REMEDY)
  else report.addOk('pictures', `resized, and served from "${folder}"`)
}
