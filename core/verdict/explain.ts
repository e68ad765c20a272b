import { causeOf, speak, URGENCY } from './delivery.ts'
import type { ExplainedDelivery, ExplainedEvent, Verdict } from './facts.ts'
import { leftOut } from './left-out.ts'
import { count, lastOf, words } from './phrases.ts'

/**
 * Why an event was or was not delivered, in words. Every surface shows this verdict and no other. It says what is
 * recorded: where a record is missing, it does not guess. The delivery that needs a person most gives the verdict.
 * (decisions: Statistics and stream, "verdict")
 */
export function explain(event: ExplainedEvent): Verdict {
  if (event.status === 'rejected') return rejected(event)
  const [worst] = event.deliveries
    .map((delivery) => ({ delivery, cause: causeOf(delivery, event.nowMs) }))
    .toSorted((a, b) => URGENCY.indexOf(a.cause) - URGENCY.indexOf(b.cause))
  if (worst === undefined) return undelivered(event)
  const verdict = worst.cause === 'delivered' ? delivered(event) : speak(worst, event.nowMs)
  return { ...verdict, sentence: `${verdict.sentence}${leftOut(event)}` }
}

function rejected(event: ExplainedEvent): Verdict {
  const { rejectionReason, rejectionDetail, verifiedWith, createdAtMs } = event
  const detail = rejectionDetail === null ? '' : `, ${rejectionDetail}`
  const reason = rejectionReason === null ? '' : `: ${words(rejectionReason)}${detail}`
  return {
    cause: 'rejected',
    sentence: `Not accepted${reason} (verifier ${verifiedWith}). The sender got 401.`,
    sinceMs: createdAtMs,
    nextAtMs: null,
    action: 'test_signature',
  }
}

function undelivered(event: ExplainedEvent): Verdict {
  const since = { sinceMs: event.createdAtMs, nextAtMs: null }
  const filtered = event.excluded.filter(({ outcome }) => outcome === 'filtered')
  const disabled = event.excluded.filter(({ outcome }) => outcome === 'disabled')
  if (event.status === 'filtered' || filtered.length > 0) {
    return {
      cause: 'filtered',
      sentence: `Accepted; ${byFilters(filtered)}${alsoDisabled(disabled)}.`,
      ...since,
      action: 'test_filter',
    }
  }
  if (disabled.length > 0) {
    const what = disabled.length === 1 ? 'connection' : 'connections'
    return {
      cause: 'connection_disabled',
      sentence: `Accepted, but ${what} ${namesOf(disabled)} ${were(disabled.length)} switched off.`,
      ...since,
      action: disabled.some(({ name }) => name !== undefined) ? 'enable_connection' : null,
    }
  }
  return { cause: 'unmatched', ...unmatched(event), ...since }
}

function byFilters(filtered: ExplainedEvent['excluded']): string {
  if (filtered.length === 0) return 'filters excluded it'
  const parts = filtered.map(({ name = 'one that is deleted now', failedPart }) =>
    failedPart === undefined ? name : `${name} because of ${failedPart}`,
  )
  const whose = filtered.length === 1 ? 'the filter' : 'the filters'
  return `${whose} of ${count(filtered.length, 'connection')} excluded it: ${parts.join(', ')}`
}

function alsoDisabled(disabled: ExplainedEvent['excluded']): string {
  if (disabled.length === 0) return ''
  return `; ${namesOf(disabled)} ${were(disabled.length)} switched off`
}

/** No record of a connection: there was none, or the event is of a version that did not look for any. */
function unmatched({ status, sourceName }: ExplainedEvent): Pick<Verdict, 'sentence' | 'action'> {
  if (status !== 'unmatched') {
    return { sentence: `Recorded as ${status}; no delivery of it is kept.`, action: null }
  }
  return sourceName === undefined
    ? {
        sentence: 'Accepted, but no connection was active on its source, which is deleted now.',
        action: null,
      }
    : {
        sentence: `Accepted, but no connection was active on source ${sourceName}.`,
        action: 'create_connection',
      }
}

function delivered({ deliveries, excluded, hasOlder }: ExplainedEvent): Verdict {
  const last = deliveries.reduce((a, b) => (endOf(b) > endOf(a) ? b : a))
  const all = deliveries.length + excluded.length
  const to = hasOlder
    ? `${count(deliveries.length, 'connection')}, as its newest deliveries say`
    : `${deliveries.length} of ${count(all, 'connection')}`
  return {
    cause: 'delivered',
    sentence: `Delivered to ${to}${theLast(last)}.${others(excluded)}`,
    sinceMs: endOf(last),
    nextAtMs: null,
    action: null,
  }
}

/** An attempt that was asked for later may have failed. */
function theLast(delivery: ExplainedDelivery): string {
  const attempt = delivery.lastAttempt
  if (attempt === null) return ''
  if (attempt.errorCode !== null)
    return `; an attempt that was asked for later: ${lastOf(delivery)}`
  return attempt.durationMs === null ? '' : `, the last in ${Math.round(attempt.durationMs)} ms`
}

function others(excluded: ExplainedEvent['excluded']): string {
  const filtered = excluded.filter(({ outcome }) => outcome === 'filtered')
  const disabled = excluded.filter(({ outcome }) => outcome === 'disabled')
  const sentences = []
  if (filtered.length > 0) sentences.push(`Excluded by filter: ${namesOf(filtered)}.`)
  if (disabled.length > 0) sentences.push(`Switched off: ${namesOf(disabled)}.`)
  return sentences.map((sentence) => ` ${sentence}`).join('')
}

function namesOf(connections: ExplainedEvent['excluded']): string {
  return connections.map(({ name }) => name ?? 'one that is deleted now').join(', ')
}

function were(n: number): string {
  return n === 1 ? 'was' : 'were'
}

function endOf({ completedAtMs, createdAtMs }: ExplainedDelivery): number {
  return completedAtMs ?? createdAtMs
}
