import type { StudioView, StudioWidgetView } from '../../src/widgets/view-models.ts'

const CHANNEL = '6f0c1f7e-0000-4000-8000-000000000001'

/** One widget of the studio, with two snippets. */
export function makeStudioWidget(kind: StudioWidgetView['kind']): StudioWidgetView {
  return {
    kind,
    title: 'Where to buy Lumen Arc',
    fragmentUrl: `https://widgets.example/fragments/${CHANNEL}/${kind}`,
    embedUrl: `https://widgets.example/embeds/${CHANNEL}/${kind}`,
    attributes: [
      { name: 'data-vitrine', value: kind },
      { name: 'data-channel', value: CHANNEL },
    ],
    snippets: [
      { id: 'loader', label: 'Loader script', code: '<div data-vitrine="deals"></div>', note: 'Any page.' },
      { id: 'esi', label: 'Varnish ESI', code: '<esi:include src="/x"/>', note: 'Needs a backend.' },
    ],
  }
}

/** A start page with a chosen product, both widgets and one bad line of health. */
export function makeStudio(changes: Partial<StudioView> = {}): StudioView {
  return {
    publicUrl: 'https://widgets.example',
    styles: ['/assets/studio.00000000.css'],
    studioScript: '/assets/studio.00000000.js',
    loaderScript: '/embed.js',
    isSample: true,
    channels: [{ id: CHANNEL, name: 'Fernweh', url: 'https://fernweh.example', isChosen: true }],
    chosenChannelId: CHANNEL,
    query: 'lamp',
    theme: 'light',
    locale: 'en',
    matches: [
      {
        gtin: '04006381333931',
        title: 'Lumen Arc',
        brand: 'Lumen',
        imageUrl: null,
        href: '?gtin=1',
        isChosen: true,
      },
    ],
    box: makeStudioWidget('where-to-buy'),
    grid: makeStudioWidget('deals'),
    notice: 'Nothing is on sale yet.',
    health: [
      { label: 'Catalog', value: 'reached', isGood: true },
      { label: 'Last walk', value: 'failed', isGood: false },
    ],
    ...changes,
  }
}
