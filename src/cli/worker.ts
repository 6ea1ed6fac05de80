import { runWorker } from '../cluster/worker.ts'

/** The program of a worker process. Load sample data only when the server has it. */
await runWorker(async (publicUrl, catalog) => {
  const { createDemo } = await import('../catalog-service/sample/sample-data.ts')
  return createDemo(publicUrl, catalog)
})
