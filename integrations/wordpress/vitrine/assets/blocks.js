/**
 * The two blocks in the editor: a preview made by the server, and their options beside it. Readers never load this file.
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

  /** How one option is set: a list of choices, or a text. */
  const OPTIONS = {
    gtin: {
      label: __('GTIN', 'vitrine'),
      help: __('The digits below the barcode of the product.', 'vitrine'),
    },
    channel: { label: __('Channel', 'vitrine'), help: __('Empty: the channel of the settings.', 'vitrine') },
    limit: { label: __('How many', 'vitrine'), type: 'number' },
    theme: {
      label: __('Theme', 'vitrine'),
      choices: {
        auto: __('As the reader prefers', 'vitrine'),
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
      choices: { in: __('Only what is in stock', 'vitrine'), any: __('Everything', 'vitrine') },
    },
    merchant: { label: __('Only these shops', 'vitrine'), help: __('Several are split by |.', 'vitrine') },
    exclude: { label: __('Never these shops', 'vitrine'), help: __('Several are split by |.', 'vitrine') },
    isolate: {
      label: __('Isolation from the styles of the page', 'vitrine'),
      choices: { none: __('None', 'vitrine'), shadow: __('Shadow DOM', 'vitrine') },
    },
    css: {
      label: __('Style sheet', 'vitrine'),
      choices: { link: __('Brought by the box', 'vitrine'), none: __('The page has its own', 'vitrine') },
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
      },
    },
    min_discount: { label: __('Least discount in per cent', 'vitrine'), type: 'number' },
    max_price: { label: __('Highest price', 'vitrine') },
    brand: { label: __('Brand', 'vitrine') },
    q: { label: __('Words in the title', 'vitrine') },
  }

  const LAYOUTS = {
    'where-to-buy': {
      list: __('List', 'vitrine'),
      table: __('Table', 'vitrine'),
      card: __('Card', 'vitrine'),
      button: __('Buttons', 'vitrine'),
    },
    deals: {
      grid: __('Grid', 'vitrine'),
      list: __('List', 'vitrine'),
      carousel: __('Carousel', 'vitrine'),
    },
  }

  const FIRST_OPTIONS = {
    'where-to-buy': ['gtin', 'layout', 'limit', 'theme'],
    deals: ['layout', 'limit', 'theme', 'sort', 'min_discount', 'max_price', 'brand', 'q'],
  }

  const MORE_OPTIONS = {
    'where-to-buy': ['accent', 'locale', 'currency', 'stock', 'merchant', 'exclude', 'markup'],
    deals: ['accent', 'locale', 'currency', 'stock', 'merchant', 'exclude', 'page'],
  }

  const RARE_OPTIONS = ['channel', 'isolate', 'css']

  const drawControl = (widget, name, { attributes, setAttributes }) => {
    const option =
      name === 'layout' ? { label: __('Layout', 'vitrine'), choices: LAYOUTS[widget] } : OPTIONS[name]
    const common = {
      key: name,
      label: option.label,
      help: option.help,
      value: attributes[name],
      onChange: (value) => setAttributes({ [name]: value }),
    }
    return option.choices === undefined
      ? createElement(TextControl, { ...common, type: option.type ?? 'text' })
      : createElement(SelectControl, { ...common, options: toChoices(option.choices) })
  }

  const drawPanel = (widget, { title, names, initialOpen }, props) =>
    createElement(
      PanelBody,
      { title, initialOpen },
      names.map((name) => drawControl(widget, name, props)),
    )

  const drawInspector = (widget, props) =>
    createElement(
      blockEditor.InspectorControls,
      null,
      drawPanel(
        widget,
        { title: __('Box', 'vitrine'), names: FIRST_OPTIONS[widget], initialOpen: true },
        props,
      ),
      drawPanel(
        widget,
        { title: __('Shops and language', 'vitrine'), names: MORE_OPTIONS[widget], initialOpen: false },
        props,
      ),
      drawPanel(
        widget,
        { title: __('Channel and styles', 'vitrine'), names: RARE_OPTIONS, initialOpen: false },
        props,
      ),
    )

  const drawPreview = (widget, { attributes, name }) =>
    createElement(Disabled, null, createElement(ServerSideRender, { block: name, attributes }))

  /** A new box asks for its product in the place where the box will be. */
  const Question = ({ setAttributes }) => {
    const [draft, setDraft] = element.useState('')
    const submit = (event) => {
      event.preventDefault()
      setAttributes({ gtin: draft.trim() })
    }
    return createElement(
      Placeholder,
      { icon: 'cart', label: __('Where to buy', 'vitrine'), instructions: OPTIONS.gtin.help },
      createElement(
        'form',
        { onSubmit: submit },
        createElement('input', {
          className: 'components-placeholder__input',
          'aria-label': OPTIONS.gtin.label,
          inputMode: 'numeric',
          value: draft,
          onChange: (event) => setDraft(event.target.value),
        }),
        createElement(Button, { variant: 'primary', type: 'submit' }, __('Show', 'vitrine')),
      ),
    )
  }

  const createEdit = (widget) => (props) =>
    createElement(
      Fragment,
      null,
      drawInspector(widget, props),
      createElement(
        'div',
        blockEditor.useBlockProps(),
        props.attributes.gtin === '' ? createElement(Question, props) : drawPreview(widget, props),
      ),
    )

  for (const widget of ['where-to-buy', 'deals'])
    blocks.registerBlockType(`vitrine/${widget}`, { edit: createEdit(widget), save: () => null })
})(window.wp)
