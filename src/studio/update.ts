import type { ExplanationView } from './explain.ts'
import type { FieldView } from './fields.ts'
import type { StudioView } from './studio.ts'

type Entry = readonly [key: string, text: string]

export type StudioUpdate = ReturnType<typeof toStudioUpdate>

/** Build the parts of a view that depend on the options (ADR 0015). */
export function toStudioUpdate(view: StudioView) {
  const { widget } = view
  const facetEntries = view.deals?.facets.flatMap(({ entries }) => entries) ?? []
  return {
    texts: Object.fromEntries<string>([
      ...listTexts(view),
      ...facetEntries.map(({ key, count }): Entry => [key, count]),
    ]),
    links: Object.fromEntries<string>([
      ...view.tabs.map(({ text, href }): Entry => [`tab ${text}`, href]),
      ...view.matches.map(({ gtin, href }): Entry => [`match ${gtin}`, href]),
      ...facetEntries.map(({ key, href }): Entry => [key, href]),
      ...(widget === null
        ? []
        : ([
            ['embed', widget.embedUrl],
            ['fragment', widget.fragmentUrl],
            ['oembed', widget.oembedUrl],
          ] as const)),
    ]),
    selected: facetEntries.filter(({ isSelected }) => isSelected).map(({ key }) => key),
    /** By option. That of the heading depends on the language. */
    placeholders: Object.fromEntries<string>(
      view.fields.flatMap(({ fields }) => fields.flatMap(listPlaceholders)),
    ),
    isSentence: view.isSentence,
    previews:
      widget === null ? [] : widget.previews.map(({ isFrame, attributes }) => ({ isFrame, attributes })),
  }
}

function listTexts({
  address,
  notice,
  fields,
  deals,
  evidence,
  widget,
  explanation,
}: StudioView): readonly Entry[] {
  return [
    ['address', address],
    ['notice', notice ?? ''],
    ...fields.flatMap((group) => group.fields.flatMap(listFieldTexts)),
    ...(deals === null
      ? []
      : ([
          ['count total', deals.total],
          ['evidence', evidence],
        ] as const)),
    ...(widget === null ? [] : widget.snippets.map(({ id, code }): Entry => [`snippet ${id}`, code])),
    ...(explanation === null ? [] : listExplanationTexts(explanation)),
  ]
}

function listPlaceholders({ name, control }: FieldView): readonly Entry[] {
  return control.kind === 'input' ? [[name, control.placeholder]] : []
}

/** Return the error of a field, and the counts of all its shops, including those that the deals panel omits. */
function listFieldTexts({ name, error, control }: FieldView): readonly Entry[] {
  const options = control.kind === 'checks' ? control.options : []
  const counts = options.flatMap(({ countKey, count }): Entry[] =>
    count === null ? [] : [[countKey, count]],
  )
  return [[`error ${name}`, error ?? ''], ...counts]
}

/** Options change the outcome of offers, not how many are listed. */
function listExplanationTexts({ summary, remedy, facts, offers }: ExplanationView): readonly Entry[] {
  return [
    ['why summary', summary],
    ['why remedy', remedy ?? ''],
    ...facts.map(({ value }, index): Entry => [`why fact ${index}`, value]),
    ...offers.flatMap(({ text, outcome }, index): Entry[] => [
      [`why offer ${index}`, text],
      [`why outcome ${index}`, outcome],
    ]),
  ]
}
