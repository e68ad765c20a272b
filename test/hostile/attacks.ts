import { costlyReads, idempotencyFlood, manyStreams } from './at-the-api.ts'
import type { Attack } from './attack.ts'
import {
  hangingBodies,
  hangingCrowd,
  hangingKeys,
  hangingLargeBodies,
  ownSource,
  sharedOrigin,
  silentNames,
  testDeliveries,
} from './by-destinations.ts'
import { blankMails, halfMails, idleMailClients, longMails } from './by-mail.ts'
import { halfBodies, rejectedFlood, silentSockets } from './by-sockets.ts'
import { costlyFilter, costlyForm, documentFlood, manyFilters } from './on-the-loop.ts'

/** The attacks of hostile tenants and strangers, by name: loopback only, each at the pace of one client within its limits. */
export const ATTACKS = {
  'a filter that compares a thousand members with each element': costlyFilter,
  'forms of 262,144 fields': costlyForm,
  '500 filters of 11 KB and a source that changes': manyFilters,
  'requests for openapi.json without end': documentFlood,
  'destinations whose name server is silent': silentNames,
  'a slow path of an origin that others share': sharedOrigin,
  'bodies of 62 KB for destinations that hang': hangingBodies,
  'bodies of 2 MB for destinations that hang': hangingLargeBodies,
  'a crowd of deliveries that hang': hangingCrowd,
  'a source that is its own destination': ownSource,
  'test deliveries that hang': testDeliveries,
  'key hosts that hang': hangingKeys,
  'sockets with half a header': silentSockets,
  'sockets with half a body': halfBodies,
  'mails of blank lines': blankMails,
  'mails of 66,000 lines': longMails,
  'mails with no end': halfMails,
  'clients of mail that send none': idleMailClients,
  'refused requests with large headers': rejectedFlood,
  'refusals under an Idempotency-Key': idempotencyFlood,
  '300 event streams': manyStreams,
  '40 searches and counts at once': costlyReads,
} satisfies Record<string, Attack>

export type AttackName = keyof typeof ATTACKS

export const ATTACK_NAMES = Object.keys(ATTACKS).filter(
  (name): name is AttackName => name in ATTACKS,
)
