import { z } from 'zod'

import { ALERT_KINDS } from '../../core/alerts/alert-types.ts'
import { timestamp } from '../../core/clock.ts'
import { listMutes, muteSubject, unmuteSubject } from '../../core/db/alerts/alert-choices.ts'
import { subjectPlaces } from '../../core/db/alerts/alert-subjects.ts'
import { refuseField } from '../../core/errors.ts'
import { encodeId } from '../../core/ids.ts'
import { ALERT_MUTE_DAYS_MAX } from '../../core/limits.ts'
import { Timestamp } from '../http/fields.ts'
import { route } from '../http/route.ts'
import { personOf } from './routes.ts'
import { SubjectId } from './shape.ts'

const tag = 'Alerts'
const noQuery = z.strictObject({})
const DAY_SECONDS = 86_400

const Mute = z.object({ subject: z.object({ id: z.string(), name: z.string() }), until: Timestamp })
const MuteList = z.object({ data: z.array(Mute) })

/** A subject that is worked on: nobody is told of it for a time. */
export const MUTE_ROUTES = [
  route({
    method: 'GET',
    path: '/alerts/mutes',
    operationId: 'listMutes',
    tag,
    summary: 'List the subjects that are muted',
    permission: 'any_key',
    scope: 'project',
    params: {},
    query: noQuery,
    body: null,
    responses: { 200: MuteList },
    errors: [],
    async handle({ deps, reach }) {
      const mutes = await listMutes(deps.db, reach.organisationId, new Date(deps.clock.now()))
      const ids = mutes.map(({ subjectId }) => subjectId)
      const places = await subjectPlaces(deps.db, reach, ids)
      const data = mutes.flatMap(({ subjectId, until }) => {
        const place = places.get(subjectId)
        if (place === undefined) return []
        const subject = { id: encodeId(place.prefix, subjectId), name: place.name }
        return [{ subject, until: timestamp(until.getTime()) }]
      })
      return { status: 200, body: { data } }
    },
  }),
  route({
    method: 'POST',
    path: '/alerts/mute',
    operationId: 'muteSubject',
    tag,
    summary: 'Tell nobody of a subject for a time',
    permission: 'any_key',
    scope: 'project',
    params: {},
    query: noQuery,
    body: z.strictObject({
      subjectId: SubjectId,
      seconds: z
        .int()
        .min(1)
        .max(ALERT_MUTE_DAYS_MAX * DAY_SECONDS),
    }),
    responses: { 200: Mute },
    errors: [],
    async handle({ deps, reach, principal, body: { subjectId, seconds } }) {
      const { id, prefix } = subjectId
      const place = (await subjectPlaces(deps.db, reach, [id])).get(id)
      if (place?.prefix !== prefix) {
        refuseField(
          'body.subjectId',
          `Cannot find it in this project (${SUBJECT_PREFIXES} can be muted)`,
        )
      }
      const until = new Date(deps.clock.now() + seconds * 1_000)
      await muteSubject(
        deps.db,
        reach.organisationId,
        { subjectId: id, until },
        personOf(principal),
      )
      const subject = { id: encodeId(prefix, id), name: place.name }
      return { status: 200, body: { subject, until: timestamp(until.getTime()) } }
    },
  }),
  route({
    method: 'POST',
    path: '/alerts/unmute',
    operationId: 'unmuteSubject',
    tag,
    summary: 'Tell of a subject again',
    permission: 'any_key',
    scope: 'project',
    params: {},
    query: noQuery,
    body: z.strictObject({ subjectId: SubjectId }),
    responses: { 204: null },
    errors: [],
    async handle({ deps, reach, body: { subjectId } }) {
      const place = (await subjectPlaces(deps.db, reach, [subjectId.id])).get(subjectId.id)
      if (place !== undefined) await unmuteSubject(deps.db, reach.organisationId, subjectId.id)
      return { status: 204 }
    },
  }),
]

const SUBJECT_PREFIXES = [
  ...new Set(Object.values(ALERT_KINDS).map(({ subject }) => `${subject}_…`)),
].join(', ')
