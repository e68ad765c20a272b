import type { Schemas } from '../../api/client.ts'

export type Kind = Schemas['OperationKind']

export const KINDS = {
  replay: { verb: 'Replay', noun: 'event', nouns: 'events', done: 'Replayed' },
  retry: { verb: 'Retry', noun: 'delivery', nouns: 'deliveries', done: 'Retried' },
  cancel: { verb: 'Cancel', noun: 'delivery', nouns: 'deliveries', done: 'Cancelled' },
} as const satisfies Record<Kind, unknown>
