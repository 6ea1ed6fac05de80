import type { DealsPanelView, FieldGroupView, StudioLive, StudioView, StudioWidgetView } from './views.ts'

import type { ExplanationView } from './explain.ts'

type Entry = readonly [key: string, text: string]

/** What of a view changes with an option: the page's script puts it in place (ADR 0013). */
export function toStudioLive(view: StudioView): StudioLive {
  const { address, notice, fields, widget, deals, why } = view
  const texts = [
    ['address', address],
    ['notice', notice ?? ''],
    ...fields.flatMap(listErrors),
    ...fields.flatMap(listCheckCounts),
    ...(deals === null ? [] : listCounts(deals)),
    ...(widget === null ? [] : listCodes(widget)),
    ...(why === null ? [] : listReasons(why)),
  ] as const
  return {
    texts: Object.fromEntries(texts),
    links: Object.fromEntries([...listWays(view), ...(widget === null ? [] : listAddresses(widget))]),
    chosen: (deals?.facets ?? []).flatMap(({ entries }) =>
      entries.filter(({ isChosen }) => isChosen).map(({ key }) => key),
    ),
    stages: widget === null ? [] : widget.stages.map(({ attributes }) => attributes),
  }
}

function listErrors({ fields }: FieldGroupView): readonly Entry[] {
  return fields.map(({ name, error }) => [`error ${name}`, error ?? ''])
}

/** Shops to tick have the counts of their filter, those that its list has no room for, too. */
function listCheckCounts({ fields }: FieldGroupView): readonly Entry[] {
  return fields.flatMap(({ control }) =>
    control.kind === 'checks'
      ? control.options.flatMap(({ countKey, count }): Entry[] => (count === null ? [] : [[countKey, count]]))
      : [],
  )
}

function listCounts({ total, facets }: DealsPanelView): readonly Entry[] {
  const entries = facets.flatMap((facet) => facet.entries)
  return [['count total', total], ...entries.map(({ key, count }): Entry => [key, count])]
}

function listCodes({ snippets }: StudioWidgetView): readonly Entry[] {
  return snippets.map(({ id, code }) => [`snippet ${id}`, code])
}

/** The offers stay the same when an option changes; which of them are shown does not. */
function listReasons({ verdict, remedy, facts, offers }: ExplanationView): readonly Entry[] {
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

/** Links to other choices: they take the options along. */
function listWays({ tabs, matches, deals }: StudioView): readonly Entry[] {
  const entries = (deals?.facets ?? []).flatMap((facet) => facet.entries)
  return [
    ...tabs.map(({ text, href }): Entry => [`tab ${text}`, href]),
    ...matches.map(({ gtin, href }): Entry => [`match ${gtin}`, href]),
    ...entries.map(({ key, href }): Entry => [key, href]),
  ]
}

function listAddresses({ embedUrl, fragmentUrl, oembedUrl }: StudioWidgetView): readonly Entry[] {
  return [
    ['embed', embedUrl],
    ['fragment', fragmentUrl],
    ['oembed', oembedUrl],
  ]
}
