const root = document.documentElement
const system = matchMedia('(prefers-color-scheme: dark)')

const isDark = (): boolean =>
  root.dataset['theme'] === undefined ? system.matches : root.dataset['theme'] === 'dark'

/** Show the switch. A choice that equals the system's is forgotten, so that the page follows the system again. */
export function startThemeSwitch(button: HTMLElement): void {
  const update = (): void => {
    button.setAttribute('aria-pressed', String(isDark()))
    applyToWidgets()
  }
  button.hidden = false
  button.addEventListener('click', () => {
    const isNowDark = !isDark()
    const choice = isNowDark === system.matches ? undefined : isNowDark ? 'dark' : 'light'
    if (choice === undefined) delete root.dataset['theme']
    else root.dataset['theme'] = choice
    store(choice)
    update()
  })
  system.addEventListener('change', update)
  update()
}

/** Widgets with `theme=auto` follow the system; on this page they follow the switch. */
function applyToWidgets(): void {
  for (const widget of document.querySelectorAll<HTMLElement>(
    '.vitrine[data-theme="auto"], .vitrine[data-was-auto]',
  )) {
    if (widget.closest('[data-keeps-theme]') !== null) continue
    widget.dataset['wasAuto'] = ''
    widget.dataset['theme'] = root.dataset['theme'] ?? 'auto'
  }
}

function store(choice: string | undefined): void {
  try {
    if (choice === undefined) localStorage.removeItem('vitrine-theme')
    else localStorage.setItem('vitrine-theme', choice)
  } catch {
    // The reader's browser refuses storage: the choice holds for this page.
  }
}
