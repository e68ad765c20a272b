/** Memory for the lists of all relays, which people choose: a list may have so much of its own, the rest is shared. */
const OWN_BYTES = 256 * 1024
const SHARED_BYTES = 48 * 1024 * 1024
/** About 20,000 resources. */
const LIST_BYTES_MAX = 8 * 1024 * 1024

/** The room that the items of one list take. */
export interface Taken {
  /** False when there is none for so many bytes more. */
  take(bytes: number): boolean
  giveBack(): void
}

export class ListRoom {
  #left = SHARED_BYTES

  open(): Taken {
    let bytes = 0
    return {
      take: (more) => {
        const shared = sharedOf(bytes + more) - sharedOf(bytes)
        if (bytes + more > LIST_BYTES_MAX || shared > this.#left) return false
        bytes += more
        this.#left -= shared
        return true
      },
      giveBack: () => {
        this.#left += sharedOf(bytes)
        bytes = 0
      },
    }
  }
}

function sharedOf(bytes: number): number {
  return Math.max(0, bytes - OWN_BYTES)
}
