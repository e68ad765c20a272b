import type { AttemptTrigger } from '../../../core/delivery/states.ts'

/** The content of an attempt; facts that are null have no header. */
export interface Outgoing {
  deliveryId: string
  eventId: string | null
  connectionId: string | null
  attemptTrigger: AttemptTrigger
  /** Attempts made before this one. */
  attemptNumber: number
  /** Its event was delivered before. */
  isReplay?: boolean
  /** When a worker asked for it, on the monotonic clock. */
  askedAt?: number
  event: {
    /** As they are stored. */
    headers: string
    verifiedWith: string | null
    remoteIp: string
    sourceName: string | null
  }
  body: Buffer
}
