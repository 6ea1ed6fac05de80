import { runWorker } from '../cluster/worker.ts'

/** The program of a worker process. Only a server with sample data loads that. */
await runWorker(async (publicUrl, readContent) => {
  const { createDemo } = await import('../catalog-service/sample/sample-data.ts')
  return createDemo(publicUrl, readContent)
})
