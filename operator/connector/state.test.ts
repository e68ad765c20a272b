import { expect, test } from 'vitest'

import { documentedRows } from '../kinds/documented-reasons.fixture.ts'
import { PASSING_FAULTS, STALLED_FAULTS, type Fault } from '../kinds/reasons.ts'
import { Halt } from '../relay/problem.ts'
import type { Condition } from '../runtime/objects/conditions.ts'
import type { Agents } from './pods/agents.ts'
import { conditionsOf, type Facts } from './state.ts'

const GENERATION = 3

const agents = (changes: Partial<Agents> = {}): Agents => ({
  exist: 2,
  old: 0,
  current: 2,
  ready: ['shop-connector-0', 'shop-connector-1'],
  fault: undefined,
  ...changes,
})
const remote = { isProvisioned: true, isDisabled: false, online: 2 }
const GOOD: Facts = {
  spec: { replicas: 2, disabled: false },
  generation: GENERATION,
  isSuspended: false,
  problem: undefined,
  remote,
  isStale: false,
  isEnrolled: true,
  agents: agents(),
  sessions: 2,
  isOverdue: false,
  hasConnected: true,
  contested: undefined,
  before: [],
}
const was = (
  type: string,
  status: Condition['status'],
  reason: string,
  generation = GENERATION,
): Condition => ({
  type,
  status,
  reason,
  message: `${reason} before`,
  observedGeneration: generation,
  lastTransitionTime: '2026-11-26T12:00:00Z',
})
const haveRolled = [was('ReplicasAvailable', 'True', 'PodsReady')]
const haveRun = [
  was('Provisioned', 'True', 'Provisioned', 2),
  was('EnrollmentReady', 'True', 'KeyStored', 2),
  was('ReplicasAvailable', 'True', 'PodsReady', 2),
  was('Connected', 'True', 'SessionsLive', 2),
]
const NEW: Partial<Facts> = { hasConnected: false, sessions: 0, agents: agents({ ready: [] }) }
const problem = (reason: Fault) => new Halt(reason, 'as a test has it').problem
const fault = (reason: NonNullable<Agents['fault']>['reason']) => ({
  reason,
  message: `Pod shop-connector-1: ${reason} in a test`,
})

interface Case {
  cause: string
  facts: Partial<Facts>
  /** `Type=Status/Reason` of every condition. */
  expected: string
  /** Words that the message of `Ready` has. */
  reads?: string
}

const REST = 'Provisioned=True/Provisioned EnrollmentReady=True/KeyStored'
const LIVE = 'Connected=True/SessionsLive'
const CASES: readonly Case[] = [
  {
    cause: 'all pods of the generation have sessions',
    facts: {},
    expected: `Ready=True/Connected ${REST} ReplicasAvailable=True/PodsReady ${LIVE}`,
    reads: '2 of 2 agents have a session',
  },
  {
    cause: 'a pod moves',
    facts: {
      agents: agents({ exist: 1, current: 1, ready: ['shop-connector-0'] }),
      sessions: 1,
      before: haveRolled,
    },
    expected: `Ready=True/Connected ${REST} ReplicasAvailable=True/PodsReady ${LIVE}`,
  },
  {
    cause: 'a pod of the generation before has the session',
    facts: { agents: agents({ old: 1, current: 1, ready: [] }), sessions: 0, before: haveRun },
    expected: `Ready=Unknown/RollingOut ${REST} ReplicasAvailable=Unknown/PodsStarting ${LIVE} Reconciling=True/RollingOut`,
    reads: '0 of 2 agents of this generation are ready, 1 of another one run',
  },
  {
    cause: 'a pod of the generation before still runs beside a ready one',
    facts: {
      agents: agents({ old: 1, current: 1, ready: ['shop-connector-1'] }),
      sessions: 1,
      before: haveRun,
    },
    expected: `Ready=Unknown/RollingOut ${REST} ReplicasAvailable=True/PodsReady ${LIVE} Reconciling=True/RollingOut`,
  },
  ...(['Unschedulable', 'ImagePullFailed', 'AgentFailed', 'PodsRefused'] as const).flatMap(
    (reason): Case[] => [
      {
        cause: `the first pod of a generation does not come: ${reason}`,
        facts: {
          agents: agents({ old: 1, ready: [], fault: fault(reason) }),
          sessions: 0,
          before: haveRun,
        },
        expected: `Ready=Unknown/${reason} ${REST} ReplicasAvailable=Unknown/${reason} ${LIVE} Reconciling=True/${reason}`,
        reads: `${reason} in a test`,
      },
      {
        cause: `pods that were ready end: ${reason}`,
        facts: {
          agents: agents({ ready: [], fault: fault(reason) }),
          sessions: 0,
          before: haveRolled,
          remote: { ...remote, online: 0 },
        },
        expected: `Ready=False/${reason} ${REST} ReplicasAvailable=False/${reason} Connected=False/NoSession`,
        reads: `${reason} in a test`,
      },
    ],
  ),
  {
    cause: 'pods do not come within the deadline',
    facts: {
      agents: agents({ old: 1, ready: [], fault: fault('Unschedulable') }),
      sessions: 0,
      isOverdue: true,
      before: haveRun,
    },
    expected: `Ready=False/ProgressDeadlineExceeded ${REST} ReplicasAvailable=False/ProgressDeadlineExceeded ${LIVE} Stalled=True/ProgressDeadlineExceeded`,
    reads: 'Unschedulable in a test',
  },
  {
    cause: 'pods were ready and are not, nobody knows why',
    facts: {
      agents: agents({ ready: [] }),
      sessions: 0,
      before: haveRolled,
      remote: { ...remote, online: 0 },
    },
    expected: `Ready=False/NotConnected ${REST} ReplicasAvailable=False/PodsNotReady Connected=False/NoSession`,
  },
  {
    cause: 'the first pods start',
    facts: { ...NEW, remote: { ...remote, online: 0 } },
    expected: `Ready=Unknown/RollingOut ${REST} ReplicasAvailable=Unknown/PodsStarting Connected=Unknown/WaitingForSessions Reconciling=True/RollingOut`,
  },
  {
    cause: 'the relay has not listed the first sessions yet',
    facts: { hasConnected: false, sessions: 0, remote: { ...remote, online: 0 } },
    expected: `Ready=Unknown/WaitingForSessions ${REST} ReplicasAvailable=True/PodsReady Connected=Unknown/WaitingForSessions Reconciling=True/WaitingForSessions`,
  },
  {
    cause: 'sessions of agents that are none of its pods',
    facts: { sessions: 0 },
    expected: `Ready=False/NotConnected ${REST} ReplicasAvailable=True/PodsReady ${LIVE}`,
    reads: '0 of 2 agents have a session',
  },
  {
    cause: 'it is new',
    facts: { ...NEW, remote: undefined, agents: undefined, isEnrolled: false },
    expected:
      'Ready=Unknown/Provisioning Provisioned=Unknown/Provisioning EnrollmentReady=Unknown/Pending ReplicasAvailable=Unknown/Pending Connected=Unknown/Provisioning Reconciling=True/Provisioning',
  },
  {
    cause: 'no gateway knows it yet',
    facts: { ...NEW, remote: { isProvisioned: false, isDisabled: false, online: 0 } },
    expected:
      'Ready=Unknown/Provisioning Provisioned=Unknown/Provisioning EnrollmentReady=True/KeyStored ReplicasAvailable=Unknown/PodsStarting Connected=Unknown/WaitingForSessions Reconciling=True/Provisioning',
  },
  {
    cause: 'it is suspended, and works',
    facts: { isSuspended: true, remote: undefined, before: haveRun },
    expected: `Ready=Unknown/Suspended ${REST} ReplicasAvailable=True/PodsReady ${LIVE} Paused=True/Suspended`,
  },
  {
    cause: 'it is disabled',
    facts: {
      spec: { replicas: 2, disabled: true },
      agents: agents({ ready: [] }),
      sessions: 0,
      remote: { ...remote, isDisabled: true, online: 0 },
      before: haveRolled,
    },
    expected: `Ready=False/Disabled ${REST} ReplicasAvailable=False/PodsNotReady Connected=False/NoSession`,
  },
  {
    cause: 'it has no replicas',
    facts: {
      spec: { replicas: 0, disabled: false },
      agents: agents({ exist: 0, current: 0, ready: [] }),
      sessions: 0,
      remote: { ...remote, online: 0 },
    },
    expected: `Ready=False/ScaledToZero ${REST} ReplicasAvailable=False/ScaledToZero Connected=False/NoSession`,
  },
  {
    cause: 'the relay is silent',
    facts: { problem: problem('RelayUnavailable'), isStale: true },
    expected: `Ready=Unknown/RelayUnavailable ${REST} ReplicasAvailable=True/PodsReady Connected=Unknown/RelayUnavailable Reconciling=True/RelayUnavailable`,
  },
  {
    cause: 'the relay is silent since the operator has started',
    facts: { problem: problem('RelayUnavailable'), remote: undefined, before: haveRun },
    expected: `Ready=Unknown/RelayUnavailable ${REST} ReplicasAvailable=True/PodsReady Connected=Unknown/RelayUnavailable Reconciling=True/RelayUnavailable`,
  },
  {
    cause: 'the plan has no connector left',
    facts: {
      ...NEW,
      problem: problem('ConnectorLimitReached'),
      remote: undefined,
      agents: undefined,
      isEnrolled: false,
    },
    expected:
      'Ready=False/ConnectorLimitReached Provisioned=False/ConnectorLimitReached EnrollmentReady=Unknown/Pending ReplicasAvailable=Unknown/Pending Connected=Unknown/Provisioning Stalled=True/ConnectorLimitReached',
  },
  {
    cause: 'somebody changes a child back',
    facts: { contested: 'Something changes the StatefulSet back each time' },
    expected: `Ready=True/Connected ${REST} ReplicasAvailable=True/PodsReady ${LIVE} Reconciling=True/Contested`,
  },
]

const wordsOf = (facts: Partial<Facts>): string =>
  conditionsOf({ ...GOOD, ...facts })
    .map(({ type, status, reason }) => `${type}=${status}/${reason}`)
    .join(' ')

test.for(CASES.map((one) => [one.cause, one] as const))(
  '%s',
  ([, { facts, expected, reads = '' }]) => {
    expect(wordsOf(facts)).toBe(expected)
    expect(conditionsOf({ ...GOOD, ...facts })[0]?.message).toContain(reads)
  },
)

test('docs/kubernetes/conditions.md has each type, status and reason of a Connector, and no other', () => {
  const faults = new Set(
    documentedRows()
      .filter(({ stalled }) => stalled !== '')
      .map(({ reason }) => reason),
  )
  const computed = CASES.flatMap(({ expected }) => expected.split(' ')).filter(
    (word) => !faults.has(word.split('/')[1] ?? '') && !word.startsWith('Stalled='),
  )
  const documented = documentedRows()
    .filter(({ section, type }) => section === 'Connector' && type !== '')
    .map(({ type, status, reason }) => `${type}=${status}/${reason}`)
  // They say the reason of Ready once more.
  const told = computed.filter((word) => !/^Reconciling=True\/(?!Contested)/.test(word))
  expect([...new Set(told)].toSorted()).toEqual([...new Set(documented)].toSorted())
})

test('a condition that stays as it was is about the generation of then', () => {
  const conditions = conditionsOf({
    ...GOOD,
    isSuspended: true,
    remote: undefined,
    before: haveRun,
  })
  const kept = conditions.find(({ type }) => type === 'Connected')
  expect(kept).toMatchObject({ message: 'SessionsLive before', observedGeneration: 2 })
})

test.for(documentedRows().filter(({ section }) => section === 'Faults'))(
  'docs/kubernetes/conditions.md has the status of Ready for $reason',
  ({ reason, status, stalled }) => {
    const known = [...PASSING_FAULTS, ...STALLED_FAULTS].find((one) => one === reason)
    const facts = { ...GOOD, problem: known && problem(known) }
    const [ready, ...rest] = conditionsOf(facts)
    const isStalled = rest.some(({ type }) => type === 'Stalled')
    expect([ready?.status, ready?.reason, isStalled ? 'yes' : 'no']).toEqual([
      status,
      reason,
      stalled,
    ])
  },
)
