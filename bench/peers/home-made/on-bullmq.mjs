import { Queue, Worker } from 'bullmq'

const NAME = 'webhooks'
/** Finished jobs are kept for their ids, which tell a repeated webhook. */
const KEPT = { age: 3_600, count: 10_000 }

export async function openQueue(url) {
  const queue = new Queue(NAME, { connection: { url } })
  await queue.waitUntilReady()
  return {
    add: async (id, data) =>
      await queue.add('deliver', data, {
        jobId: id,
        attempts: 8,
        backoff: { type: 'exponential', delay: 1_000 },
        removeOnComplete: KEPT,
      }),
  }
}

export async function work(url, concurrency, deliver) {
  const worker = new Worker(NAME, async ({ id, data }) => await deliver(id, data), {
    connection: { url, maxRetriesPerRequest: null },
    concurrency,
  })
  worker.on('error', (error) => console.error(error))
  await worker.waitUntilReady()
}
