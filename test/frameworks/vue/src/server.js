import { createSSRApp } from 'vue'
import { renderToString } from 'vue/server-renderer'
import App from './App.vue'

export const render = () => renderToString(createSSRApp(App))

// Compiled, because the documentation has it.
export { default as Example } from './Example.vue'
