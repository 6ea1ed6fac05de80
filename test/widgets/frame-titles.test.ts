import { expect, test } from 'vitest'
import { toFrameTitle } from '../../src/browser/titles.ts'
import { LANGUAGE_TAGS, getLocalization } from '../../src/widgets/locales/index.ts'

const TAGS = [...LANGUAGE_TAGS, 'no', 'nn', 'de-AT', 'PT-br', 'zh-Hant-TW', 'xx', '', 'constructor']

test.each(TAGS)('language %j - the frame title of the loader equals the heading of the server', (tag) => {
  const { boxHeading, gridHeading } = getLocalization(tag).texts
  const titles = ['where-to-buy', 'picks', 'deals'].map((kind) => toFrameTitle(kind, tag))
  expect(titles).toEqual([boxHeading, boxHeading, gridHeading])
})
