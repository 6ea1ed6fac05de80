import type { ExplanationView } from './explain.ts'
import type { HealthView } from './health.ts'

/** The tabs of the studio. */
export type StudioTab = 'where-to-buy' | 'deals' | 'health'

/** What a tab embeds. */
export type StudioKind = Exclude<StudioTab, 'health'>

/** An attribute of the loader's placeholder. */
export type FrameAttribute = Readonly<{ name: string; value: string }>

/** A snippet to copy. */
export type SnippetView = Readonly<{ id: string; label: string; code: string; note: string }>

/** An option as a field of the form. */
export type FieldView = Readonly<{
  name: string
  label: string
  hint: string
  /** What is wrong with its value; `null`: nothing. */
  error: string | null
  control:
    | Readonly<{
        kind: 'select'
        options: readonly Readonly<{ value: string; text: string; isChosen: boolean }>[]
      }>
    | Readonly<{
        kind: 'input'
        type: 'text' | 'number'
        value: string
        placeholder: string
        inputMode?: 'text' | 'decimal'
        min?: number
        max?: number
        suggestions: readonly string[]
      }>
    | Readonly<{
        kind: 'checks'
        /** `count`: deals of the shop under the other filters, `null` where they are not counted; and its key. */
        options: readonly Readonly<{
          value: string
          text: string
          count: string | null
          countKey: string
          isChosen: boolean
        }>[]
      }>
}>

/** Fields under one heading. */
export type FieldGroupView = Readonly<{ title: string; fields: readonly FieldView[] }>

/** One frame of the preview. */
export type StageView = Readonly<{
  size: 'phone' | 'article'
  ground: 'light' | 'dark'
  /** Accessible name: `Phone, on a light page`. */
  label: string
  attributes: readonly FrameAttribute[]
}>

/** The widget of a tab: its addresses, its previews, and how to embed it. */
export type StudioWidgetView = Readonly<{
  kind: StudioKind
  title: string
  fragmentUrl: string
  embedUrl: string
  oembedUrl: string
  stages: readonly StageView[]
  snippets: readonly SnippetView[]
  /** The ground that the preview begins with. */
  ground: 'light' | 'dark'
}>

/** One filter of the deals tab with its counts; each entry leads to the choice that has it. */
export type FacetView = Readonly<{
  title: string
  entries: readonly Readonly<{ key: string; text: string; count: string; href: string; isChosen: boolean }>[]
}>

/** How many deals there are under the chosen filters, and would be under others. */
export type DealsPanelView = Readonly<{ total: string; facets: readonly FacetView[] }>

/** A product that the search found. */
export type MatchView = Readonly<{
  gtin: string
  title: string
  brand: string | null
  imageUrl: string | null
  href: string
  isChosen: boolean
}>

/** The studio. */
export type StudioView = Readonly<{
  publicUrl: string
  styles: readonly string[]
  studioScript: string
  loaderScript: string
  isSample: boolean
  tab: StudioTab
  tabs: readonly Readonly<{ text: string; href: string; isChosen: boolean }>[]
  channels: readonly Readonly<{ id: string; name: string; url: string | null; isChosen: boolean }>[]
  find: string
  gtin: string
  matches: readonly MatchView[]
  fields: readonly FieldGroupView[]
  /** `null` while there is nothing to embed, with `notice` saying why. */
  widget: StudioWidgetView | null
  /** Why nothing is shown; `null`: something is. */
  notice: string | null
  /** This choice without what is as by default: an address to share. */
  address: string
  deals: DealsPanelView | null
  /** Of a box alone. */
  why: ExplanationView | null
  health: HealthView | null
}>

/** What the script puts into the page after a change: texts and links by their key, and attributes of the previews. */
export type StudioLive = Readonly<{
  texts: Readonly<Record<string, string>>
  links: Readonly<Record<string, string>>
  /** Keys of the entries of filters that are chosen. */
  chosen: readonly string[]
  stages: readonly (readonly FrameAttribute[])[]
}>
