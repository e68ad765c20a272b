import type { z } from 'zod'

import { findDestination, type Destination } from '../../core/db/configuration/destinations.ts'
import { findOrganisation } from '../../core/db/configuration/organisations.ts'
import { findDelivery } from '../../core/db/deliveries/read/deliveries.ts'
import { refuse, refuseField } from '../../core/errors.ts'
import { TESTS_PER_ORGANISATION } from '../../core/limits.ts'
import { requestTest, type TestDelivery } from '../../core/notices/ask-test-delivery.ts'
import { TooManyRequests } from '../auth/rate-limit.ts'
import type { Attempt } from '../deliveries/attempt-shape.ts'
import { attemptsWithHeaders } from '../deliveries/attempts.ts'
import type { Deps } from '../deps.ts'
import { refuseMissing, Unavailable } from '../http/failure.ts'
import type { Call } from '../http/route.ts'
import { audit } from '../writes/transact.ts'

const RETRY_AFTER_SECONDS = 1

/** Time for a test besides its attempt: to resolve a name, fetch an access token and write a row. */
const MARGIN_MS = 15_000

/** Stands in for an event. */
interface TestInput {
  headers: Record<string, string>
  body: string
}

/**
 * Has a worker make one attempt, which is the one way out of the relay, and returns the delivery with it. Throws the
 * refusals of the test-delivery route.
 */
export async function sendTest(
  { deps, principal, reach, params }: Call<{ id: string }>,
  input: TestInput,
): Promise<{ deliveryId: string; attempt: z.output<typeof Attempt> }> {
  const destination =
    (await findDestination(deps.db, reach, params.id)) ?? refuseMissing('dst', params.id)
  if (destination.mode === 'private' && deps.gatewayUrl === undefined) {
    refuseField('params.id', 'private delivery is not configured on this deployment')
  }
  const deliveryId = await requestAttempt(deps, destination, input)
  const delivery =
    (await findDelivery(deps.db, reach, deliveryId)) ?? refuseMissing('dlv', deliveryId)
  await audit(deps.db, deps, {
    principal,
    projectId: destination.projectId,
    kind: 'destination',
    verb: 'test',
    id: destination.id,
    changes: { status: delivery.status },
  })
  const [sent] = await attemptsWithHeaders(deps, [delivery])
  const [attempt] = sent?.attempts ?? []
  if (attempt === undefined) throw new Error('A test delivery has no attempt')
  return { deliveryId, attempt: attempt.shown }
}

async function requestAttempt(
  deps: Deps,
  destination: Destination,
  input: TestInput,
): Promise<string> {
  const organisation = await findOrganisation(deps.db, destination.organisationId)
  if (organisation === undefined) throw new Error('A destination has no organisation')
  const test: TestDelivery = {
    destinationId: destination.id,
    projectId: destination.projectId,
    organisationId: destination.organisationId,
    share: await deps.shares.of(destination.organisationId),
    class: organisation.retentionClass,
    headers: Object.entries(input.headers),
    bodyBase64: Buffer.from(input.body).toString('base64'),
  }
  const outcome = await requestTest(deps.nats, test, destination.timeoutMs + MARGIN_MS)
  switch (outcome.kind) {
    case 'made':
      return outcome.deliveryId
    case 'deleted':
      return refuseMissing('dst', destination.id)
    case 'not_public':
      return refuse(
        'DESTINATION_NOT_PUBLIC',
        'Cannot send a test delivery: the address of the destination is private or reserved',
      )
    case 'unavailable':
      if (outcome.isShareSpent === true) {
        throw new TooManyRequests(
          `More than ${TESTS_PER_ORGANISATION} test deliveries of the organisation are under way`,
          RETRY_AFTER_SECONDS,
        )
      }
      throw new Unavailable('No worker can make the test delivery')
  }
}
