/** Runs before the page is shown: apply the theme that the reader has chosen. */
const theme = readTheme()
if (theme === 'light' || theme === 'dark') document.documentElement.dataset['theme'] = theme

function readTheme(): string | null {
  try {
    return localStorage.getItem('vitrine-theme')
  } catch {
    // The reader's browser refuses storage.
    return null
  }
}
