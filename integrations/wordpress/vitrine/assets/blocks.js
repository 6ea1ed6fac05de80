/**
 * The three blocks in the editor: a preview rendered by the server, and the options. Readers never load this file.
 */
;(({ blocks, element, blockEditor, components, serverSideRender, i18n }) => {
  const { createElement, Fragment } = element
  const { __ } = i18n
  const ServerSideRender = serverSideRender.ServerSideRender ?? serverSideRender
  const { Button, Disabled, PanelBody, Placeholder, SelectControl, TextControl } = components

  const byDefault = { value: '', label: __('Default', 'vitrine') }

  const toChoices = (labels) => [
    byDefault,
    ...Object.entries(labels).map(([value, label]) => ({ value, label })),
  ]

  /** Controls by option: a select with `choices`, otherwise a text field. */
  const OPTIONS = {
    gtin: {
      label: __('GTIN', 'vitrine'),
      help: __('The digits below the barcode of the product. Separate variants of it with ~.', 'vitrine'),
    },
    gtins: {
      label: __('GTINs', 'vitrine'),
      help: __('2 to 20 products in your order, separated by commas.', 'vitrine'),
    },
    labels: {
      label: __('Labels', 'vitrine'),
      help: __('For the products in their order, separated with |: Best overall||Best value.', 'vitrine'),
    },
    else: {
      label: __('Stand-ins', 'vitrine'),
      help: __('Up to 5 GTINs, separated by commas, for while no shop sells the product.', 'vitrine'),
    },
    sub: {
      label: __('Placement', 'vitrine'),
      help: __('If empty, p and the id of the post. Letters, digits, hyphens and underscores.', 'vitrine'),
    },
    channel: {
      label: __('Channel', 'vitrine'),
      help: __('If empty, the default channel of the settings.', 'vitrine'),
    },
    limit: { label: __('Maximum number', 'vitrine'), type: 'number' },
    theme: {
      label: __('Theme', 'vitrine'),
      choices: {
        auto: __('Automatic', 'vitrine'),
        light: __('Light', 'vitrine'),
        dark: __('Dark', 'vitrine'),
      },
    },
    accent: {
      label: __('Accent colour', 'vitrine'),
      help: __('Six hex digits without #, such as ff6600.', 'vitrine'),
    },
    locale: { label: __('Language', 'vitrine'), help: __('A language tag such as en or de-AT.', 'vitrine') },
    currency: { label: __('Currency', 'vitrine'), help: __('A code such as EUR.', 'vitrine') },
    stock: {
      label: __('Stock', 'vitrine'),
      choices: { in: __('In stock only', 'vitrine'), any: __('All offers', 'vitrine') },
    },
    merchant: {
      label: __('Only these shops', 'vitrine'),
      help: __('Separate several names with |.', 'vitrine'),
    },
    exclude: {
      label: __('Exclude these shops', 'vitrine'),
      help: __('Separate several names with |.', 'vitrine'),
    },
    isolate: {
      label: __('Isolation from page styles', 'vitrine'),
      choices: { none: __('None', 'vitrine'), shadow: __('Shadow DOM', 'vitrine') },
    },
    css: {
      label: __('Style sheet', 'vitrine'),
      choices: { link: __('Included with the box', 'vitrine'), none: __('The page has its own', 'vitrine') },
    },
    head: {
      label: __('Header', 'vitrine'),
      choices: {
        full: __('Complete', 'vitrine'),
        compact: __('Without picture', 'vitrine'),
        none: __('None', 'vitrine'),
      },
    },
    heading: {
      label: __('Heading', 'vitrine'),
      help: __('Up to 80 characters, in place of the usual words.', 'vitrine'),
    },
    history: {
      label: __('Observed prices', 'vitrine'),
      choices: {
        none: __('None', 'vitrine'),
        note: __('Sentence with the lowest price', 'vitrine'),
        chart: __('Sentence and chart', 'vitrine'),
      },
    },
    markup: {
      label: __('Structured data', 'vitrine'),
      choices: { none: __('None', 'vitrine'), schema: __('schema.org Product', 'vitrine') },
    },
    page: { label: __('Page', 'vitrine'), type: 'number' },
    sort: {
      label: __('Order', 'vitrine'),
      choices: {
        discount: __('Largest discount', 'vitrine'),
        saving: __('Largest saving', 'vitrine'),
        price: __('Lowest price', 'vitrine'),
        newest: __('Newest', 'vitrine'),
        drop: __('Largest observed price drop', 'vitrine'),
      },
    },
    evidence: {
      label: __('Evidence of a reduction', 'vitrine'),
      choices: {
        shop: __('Former prices of the shops', 'vitrine'),
        observed: __('Only observed price drops', 'vitrine'),
      },
    },
    min_discount: { label: __('Minimum discount in percent', 'vitrine'), type: 'number' },
    max_price: { label: __('Maximum price', 'vitrine') },
    brand: { label: __('Brand', 'vitrine') },
    q: { label: __('Words in the title', 'vitrine') },
  }

  const LAYOUTS = {
    'where-to-buy': {
      list: __('List', 'vitrine'),
      table: __('Table', 'vitrine'),
      card: __('Card', 'vitrine'),
      button: __('Buttons', 'vitrine'),
      inline: __('Part of a sentence', 'vitrine'),
    },
    picks: {
      rank: __('Numbered cards', 'vitrine'),
      table: __('Table', 'vitrine'),
      row: __('Compact rows', 'vitrine'),
    },
    deals: {
      grid: __('Grid', 'vitrine'),
      list: __('List', 'vitrine'),
      carousel: __('Carousel', 'vitrine'),
    },
  }

  const FIRST_OPTIONS = {
    'where-to-buy': ['gtin', 'else', 'layout', 'limit', 'history', 'head', 'heading', 'theme'],
    picks: ['gtins', 'labels', 'layout', 'head', 'heading', 'theme'],
    deals: [
      'layout',
      'limit',
      'head',
      'heading',
      'theme',
      'sort',
      'evidence',
      'min_discount',
      'max_price',
      'brand',
      'q',
    ],
  }

  const MORE_OPTIONS = {
    'where-to-buy': ['accent', 'locale', 'currency', 'stock', 'merchant', 'exclude', 'markup'],
    picks: ['accent', 'locale', 'currency', 'stock', 'merchant', 'exclude'],
    deals: ['accent', 'locale', 'currency', 'stock', 'merchant', 'exclude', 'page'],
  }

  const RARE_OPTIONS = ['sub', 'channel', 'isolate', 'css']

  const renderControl = (widget, name, { attributes, setAttributes }) => {
    const option =
      name === 'layout' ? { label: __('Layout', 'vitrine'), choices: LAYOUTS[widget] } : OPTIONS[name]
    const common = {
      key: name,
      label: option.label,
      help: option.help,
      value: attributes[name],
      onChange: (value) => setAttributes({ [name]: value }),
      // The sizes of WordPress 7.1, which 6.7 to 7.0 ask for.
      __next40pxDefaultSize: true,
      __nextHasNoMarginBottom: true,
    }
    return option.choices === undefined
      ? createElement(TextControl, { ...common, type: option.type ?? 'text' })
      : createElement(SelectControl, { ...common, options: toChoices(option.choices) })
  }

  const renderPanel = (widget, { title, names, initialOpen }, props) =>
    createElement(
      PanelBody,
      { title, initialOpen },
      names.map((name) => renderControl(widget, name, props)),
    )

  const renderInspector = (widget, props) =>
    createElement(
      blockEditor.InspectorControls,
      null,
      renderPanel(
        widget,
        { title: __('Box', 'vitrine'), names: FIRST_OPTIONS[widget], initialOpen: true },
        props,
      ),
      renderPanel(
        widget,
        { title: __('Shops and language', 'vitrine'), names: MORE_OPTIONS[widget], initialOpen: false },
        props,
      ),
      renderPanel(
        widget,
        { title: __('Placement, channel and styles', 'vitrine'), names: RARE_OPTIONS, initialOpen: false },
        props,
      ),
    )

  const renderPreview = (widget, { attributes, name }) =>
    createElement(Disabled, null, createElement(ServerSideRender, { block: name, attributes }))

  /** Attribute with the products of a widget. */
  const PRODUCTS = { 'where-to-buy': 'gtin', picks: 'gtins' }

  /** A form for the products, in place of a new box. */
  const ProductForm = ({ name, title, setAttributes }) => {
    const [draft, setDraft] = element.useState('')
    const submit = (event) => {
      event.preventDefault()
      setAttributes({ [name]: draft.trim() })
    }
    const { label, help } = OPTIONS[name]
    return createElement(
      Placeholder,
      { icon: 'cart', label: title, instructions: help },
      createElement(
        'form',
        { onSubmit: submit },
        createElement('input', {
          className: 'components-placeholder__input',
          'aria-label': label,
          value: draft,
          onChange: (event) => setDraft(event.target.value),
        }),
        createElement(Button, { variant: 'primary', type: 'submit' }, __('Show', 'vitrine')),
      ),
    )
  }

  const TITLES = { 'where-to-buy': __('Where to buy', 'vitrine'), picks: __('Round-up', 'vitrine') }

  const renderContent = (widget, props) => {
    const name = PRODUCTS[widget]
    if (props.attributes[name] !== '') return renderPreview(widget, props)
    return createElement(ProductForm, { name, title: TITLES[widget], setAttributes: props.setAttributes })
  }

  const createEdit = (widget) => (props) =>
    createElement(
      Fragment,
      null,
      renderInspector(widget, props),
      createElement('div', blockEditor.useBlockProps(), renderContent(widget, props)),
    )

  for (const widget of ['where-to-buy', 'picks', 'deals'])
    blocks.registerBlockType(`vitrine/${widget}`, { edit: createEdit(widget), save: () => null })
})(window.wp)
