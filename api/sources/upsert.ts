import { z } from 'zod'

import { lockByName } from '../../core/db/configuration/by-name.ts'
import type { ActiveSource } from '../../core/db/configuration/sources.ts'
import { refuseField } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { route, type Call } from '../http/route.ts'
import {
  placeOf,
  refuseOtherName,
  upsertAnswer,
  upsertResource,
  ENABLED_STAYS,
  UPSERT_RULES,
  type Upserted,
} from '../writes/upsert.ts'
import { changeSource, newSource, shownChanges } from './change.ts'
import { SOURCE } from './resource.ts'
import { Source, SourceUpsert, type SourceChanges } from './shape.ts'
import { showSource } from './view.ts'

export const SOURCE_UPSERT_ROUTES = [
  route({
    method: 'PUT',
    path: '/sources/by-name/:name',
    operationId: 'upsertSource',
    tag: 'Sources',
    summary: 'Create or change a source by its name',
    description: `${UPSERT_RULES} ${ENABLED_STAYS} A verifier without its secret keeps the stored one if preset and type stay the same, and \`handshake\` stays when left out. Sending the current secret does not end a rotation. \`kind\` cannot change.`,
    permission: { resource: 'sources', level: 'write' },
    scope: 'project',
    params: { name: 'name' },
    query: z.strictObject({}),
    body: SourceUpsert,
    responses: { 200: Source, 201: Source },
    errors: ['CONFLICT'],
    async handle(call) {
      const upserted = await upsertSource(call)
      const shown = await showSource(call.deps, upserted.row)
      return upsertAnswer(upserted, () => shown)
    },
  }),
]

/** Defaults of the members of a source that no preset chooses. */
const SOURCE_DEFAULTS = {
  verifier: null,
  idempotencyKeys: null,
  maxPayloadSizeKb: null,
  metadata: null,
} satisfies Record<
  Exclude<
    keyof SourceChanges,
    'name' | 'isEnabled' | 'handshake' | 'eventTypeField' | 'allowedMethods' | 'ingestResponse'
  >,
  null
>

async function upsertSource(
  call: Call<{ name: string }, unknown, z.output<typeof SourceUpsert>>,
): Promise<Upserted<ActiveSource>> {
  const { deps, params } = call
  const named = placeOf(call)
  const { kind, name, ...body } = call.body
  refuseOtherName(params.name, name)
  return await upsertResource(call, SOURCE, {
    idOf: async (tx) => await lockByName(tx, 'source', named),
    make(now) {
      const given = { ...named, id: newId(now.getTime()), kind: kind ?? 'http' }
      return newSource(given, body.verifier, now)
    },
    declare(before, now) {
      if (kind !== undefined && kind !== before.kind) refuseField('body.kind', 'Cannot be changed')
      const { eventTypeField, allowedMethods, ingestResponse } = newSource(
        before,
        body.verifier,
        now,
      )
      const base = { ...before, eventTypeField, allowedMethods, ingestResponse }
      const changes = { ...SOURCE_DEFAULTS, ...body }
      return changeSource(deps.keyring, base, changes, { part: 'body', now })
    },
    shown: shownChanges({ ...body, name: params.name }),
  })
}
