import { renderToString } from 'react-dom/server'
import { App } from './app.tsx'

export const render = (): string => renderToString(<App />)
