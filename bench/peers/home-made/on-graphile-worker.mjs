import { makeWorkerUtils, run } from 'graphile-worker'

/** As its page on performance advises: jobs are taken and finished in batches. */
const TAKEN_AHEAD = 128
const CONNECTIONS = 10

export async function openQueue(url) {
  const utils = await makeWorkerUtils({ preset: { worker: { connectionString: url } } })
  await utils.migrate()
  return {
    add: async (id, data) =>
      await utils.addJob('deliver', { id, ...data }, { jobKey: id, maxAttempts: 8 }),
  }
}

export async function work(url, concurrency, deliver) {
  await run({
    preset: {
      worker: {
        connectionString: url,
        concurrentJobs: concurrency,
        maxPoolSize: CONNECTIONS,
        localQueue: { size: TAKEN_AHEAD },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
    taskList: { deliver: async ({ id, ...data }) => await deliver(id, data) },
  })
}
