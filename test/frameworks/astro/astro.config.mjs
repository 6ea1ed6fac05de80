export default { outDir: './dist/client', devToolbar: { enabled: false } }
