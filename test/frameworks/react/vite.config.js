export default { envPrefix: 'VITRINE_', build: { outDir: 'dist/client' } }
