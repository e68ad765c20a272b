import { deliver } from './deliver.mjs'

/** No queue: jobs are in the memory of the receiver, which delivers them itself and tries none again. */
export async function openQueue() {
  return {
    async add(id, data) {
      deliver(id, data).catch((error) => console.error(error))
    },
  }
}
