import type { ExplanationView } from './explain.ts'
import type { FieldView } from './fields.ts'
import type { StudioView } from './studio.ts'

type Entry = readonly [key: string, text: string]

/** What the page's script puts in place after a change: texts and links by their key, and attributes of the previews. */
export type StudioUpdate = ReturnType<typeof toStudioUpdate>

/** Build what of a view changes with an option (ADR 0015). */
export function toStudioUpdate(view: StudioView) {
  const { widget } = view
  const facetEntries = view.deals?.facets.flatMap(({ entries }) => entries) ?? []
  return {
    texts: Object.fromEntries<string>([
      ...listTexts(view),
      ...facetEntries.map(({ key, count }): Entry => [key, count]),
    ]),
    links: Object.fromEntries<string>([
      // Links to other choices take the options along.
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
    /** Keys of the entries of filters that are chosen. */
    selected: facetEntries.filter(({ isSelected }) => isSelected).map(({ key }) => key),
    previews: widget === null ? [] : widget.previews.map(({ attributes }) => attributes),
  }
}

function listTexts({ address, notice, fields, deals, widget, explanation }: StudioView): readonly Entry[] {
  return [
    ['address', address],
    ['notice', notice ?? ''],
    ...fields.flatMap((group) => group.fields.flatMap(listFieldTexts)),
    ...(deals === null ? [] : [['count total', deals.total] as const]),
    ...(widget === null ? [] : widget.snippets.map(({ id, code }): Entry => [`snippet ${id}`, code])),
    ...(explanation === null ? [] : listExplanationTexts(explanation)),
  ]
}

/** What is wrong with a field. Shops to tick have the counts of their filter, those that its list has no room for, too. */
function listFieldTexts({ name, error, control }: FieldView): readonly Entry[] {
  const options = control.kind === 'checks' ? control.options : []
  const counts = options.flatMap(({ countKey, count }): Entry[] =>
    count === null ? [] : [[countKey, count]],
  )
  return [[`error ${name}`, error ?? ''], ...counts]
}

/** The offers stay the same when an option changes; which of them are shown does not. */
function listExplanationTexts({ verdict, remedy, facts, offers }: ExplanationView): readonly Entry[] {
  return [
    ['why verdict', verdict],
    ['why remedy', remedy ?? ''],
    ...facts.map(({ value }, index): Entry => [`why fact ${index}`, value]),
    ...offers.flatMap(({ text, outcome }, index): Entry[] => [
      [`why offer ${index}`, text],
      [`why outcome ${index}`, outcome],
    ]),
  ]
}
