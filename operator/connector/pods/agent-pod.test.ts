import { expect, test } from 'vitest'

import { trimPod } from '../../world/trimmed.ts'
import { readPod } from './agent-pod.ts'

const readStatus = (status: object) => readPod(trimPod({ metadata: { name: 'shop-0' }, status }))
const agent = (state: object, lastState: object = {}) => ({
  phase: 'Pending',
  containerStatuses: [
    { name: 'sidecar', state: { waiting: { reason: 'ErrImagePull' } } },
    { name: 'agent', state, lastState },
  ],
})
const waiting = (reason: string, message = '') => ({ waiting: { reason, message } })
const ended = (message: string) => ({ terminated: { exitCode: 1, reason: 'Error', message } })

test.for<[what: string, status: object, reason: string, words: string]>([
  [
    'no node takes it',
    {
      phase: 'Pending',
      conditions: [
        {
          type: 'PodScheduled',
          status: 'False',
          reason: 'Unschedulable',
          message: '0/3 nodes are available',
        },
      ],
    },
    'Unschedulable',
    '0/3 nodes are available',
  ],
  [
    'its image cannot be pulled',
    agent(waiting('ImagePullBackOff', 'Back-off pulling image "x"')),
    'ImagePullFailed',
    'ImagePullBackOff: Back-off pulling image "x"',
  ],
  [
    'its agent ends with several lines',
    agent(waiting('CrashLoopBackOff'), ended('Cannot start:\n  POSTERN_ALLOW: wrong\n')),
    'AgentFailed',
    'the agent ended with the exit code 1: POSTERN_ALLOW: wrong',
  ],
  [
    'its agent ends with a line of a log',
    agent(waiting('CrashLoopBackOff'), ended('{"msg":"Failed","err":{"message":"no such file"}}')),
    'AgentFailed',
    'exit code 1: Failed: no such file',
  ],
  ['its agent is killed without a word', agent(ended('')), 'AgentFailed', 'exit code 1: Error'],
  [
    'its container cannot be made',
    agent(waiting('CreateContainerConfigError', 'secret "x" not found')),
    'AgentFailed',
    'CreateContainerConfigError: secret "x" not found',
  ],
  [
    'it was evicted',
    { phase: 'Failed', reason: 'Evicted', message: 'The node was low on memory' },
    'AgentFailed',
    'Evicted The node was low on memory',
  ],
  [
    'an escape is in the words',
    agent(waiting('ErrImagePull', 'a\u001b[31mb')),
    'ImagePullFailed',
    'a [31mb',
  ],
])('a pod that does not come says why: %s', ([, status, reason, words]) => {
  const { fault, isReady } = readStatus(status)
  expect(isReady).toBe(false)
  expect(fault).toMatchObject({ reason, message: expect.stringContaining(words) })
  expect(fault?.message).toMatch(/^Pod shop-0: /)
})

test.for<[what: string, status: object]>([
  ['is new', {}],
  ['starts', agent(waiting('ContainerCreating'))],
  ['runs and has no session yet', agent({ running: {} })],
  [
    'is ready after a fault',
    { ...agent({ running: {} }, ended('x')), conditions: [{ type: 'Ready', status: 'True' }] },
  ],
])('nothing is wrong with a pod that %s', ([, status]) => {
  expect(readStatus(status).fault).toBeUndefined()
})
