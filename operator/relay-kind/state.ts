import { isStalled, type Reason } from '../kinds/reasons.ts'
import type { Standing } from '../relay/relay-client.ts'
import type { Stated } from '../runtime/objects/conditions.ts'

/** Everything on which the conditions of a Relay rest. */
export type Facts =
  | { kind: 'missing'; reason: Reason; message: string }
  | {
      kind: 'ready'
      /** A read has waited for longer than it may. */
      isLate: boolean
      standing: Pick<Standing, 'kind' | 'message'> | undefined
      /** Calls that the key has been refused. */
      lacked: readonly string[]
    }

type Word = Omit<Stated, 'type'> & { reason: Reason }

/** The conditions in their order: `Ready`, and `Stalled` where waiting does not help. */
export function conditionsOf(facts: Facts): Stated[] {
  const word = wordOf(facts)
  const ready = { type: 'Ready', ...word }
  const isLasting = word.status === 'False' && isStalled(word.reason)
  return isLasting ? [ready, { ...ready, type: 'Stalled', status: 'True' }] : [ready]
}

const WORDS: Readonly<Record<Exclude<Standing['kind'], 'good'>, Omit<Word, 'message'>>> = {
  refused: { status: 'False', reason: 'CredentialsInvalid' },
  forbidden: { status: 'False', reason: 'RelayNotAllowed' },
  foreign: { status: 'Unknown', reason: 'NotPostern' },
  away: { status: 'Unknown', reason: 'RelayUnavailable' },
}

function wordOf(facts: Facts): Word {
  if (facts.kind === 'missing') {
    return { status: 'False', reason: facts.reason, message: facts.message }
  }
  if (facts.isLate) return { ...WORDS.away, message: 'The relay has not answered for 2 s' }
  const { standing, lacked } = facts
  if (standing === undefined) return { ...WORDS.away, message: 'The relay has not answered yet' }
  if (standing.kind !== 'good') return { ...WORDS[standing.kind], message: standing.message }
  if (lacked.length === 0) {
    return { status: 'True', reason: 'Reachable', message: standing.message }
  }
  return {
    status: 'False',
    reason: 'InsufficientPermissions',
    message: `The relay has refused the API key these calls: ${lacked.join(', ')}`,
  }
}
