import vue from '@vitejs/plugin-vue'

export default { plugins: [vue()], envPrefix: 'VITRINE_', build: { outDir: 'dist/client' } }
