import type { ExplanationView } from '../explain/widgets.ts'
import type { FieldView } from './fields.ts'
import type { StudioView } from './studio.ts'
import type { StudioWidgetView } from './widget.ts'

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
            ...widget.otherForms.map(({ name, url }): Entry => [name, url]),
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
  missing,
  picks,
  boxList,
}: StudioView): readonly Entry[] {
  return [
    ['address', address],
    ['notice', notice ?? ''],
    ['missing', missing],
    ...(picks?.rows ?? []).map(({ gtin, problem }): Entry => [`row ${gtin}`, problem]),
    ...listBoxRows(boxList),
    ...fields.flatMap((group) => group.fields.flatMap(listFieldTexts)),
    ...(deals === null
      ? []
      : ([
          ['count total', deals.total],
          ['evidence', evidence],
        ] as const)),
    ...(widget === null ? [] : listWidgetTexts(widget)),
    ...(explanation === null ? [] : listExplanationTexts(explanation)),
  ]
}

function listWidgetTexts({ caption, snippets }: StudioWidgetView): readonly Entry[] {
  return [['caption', caption], ...snippets.map(({ id, code }): Entry => [`snippet ${id}`, code])]
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

function listBoxRows(boxList: StudioView['boxList']): readonly Entry[] {
  const rows = boxList === null ? [] : [...boxList.variants, ...boxList.standIns]
  return rows.map(({ gtin, outcome }): Entry => [`row ${gtin}`, outcome])
}

/** Options change outcomes, not how many products and offers are listed. */
function listExplanationTexts(explanation: ExplanationView): readonly Entry[] {
  const { summary, remedy, facts, offers, products } = explanation
  return [
    ['why summary', summary],
    ['why remedy', remedy ?? ''],
    ...listFactTexts('why', { facts, offers }),
    ...products.flatMap((product, index): readonly Entry[] => [
      [`why product ${index}`, product.outcome],
      [`why product ${index} remedy`, product.remedy ?? ''],
      ...listFactTexts(`why product ${index}`, product),
    ]),
  ]
}

function listFactTexts(
  key: string,
  { facts, offers }: Pick<ExplanationView, 'facts' | 'offers'>,
): readonly Entry[] {
  return [
    ...facts.map(({ value }, index): Entry => [`${key} fact ${index}`, value]),
    ...offers.flatMap(({ text, outcome }, index): Entry[] => [
      [`${key} offer ${index}`, text],
      [`${key} outcome ${index}`, outcome],
    ]),
  ]
}
