import { deliver } from './deliver.mjs'

/** Takes jobs off the queue and delivers them. */
const { QUEUE = '', STORE_URL = '', CONCURRENCY = '' } = process.env
const { work } = await import(`./on-${QUEUE}.mjs`)
await work(STORE_URL, Number(CONCURRENCY), deliver)
