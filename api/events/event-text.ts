import type { z } from 'zod'

import type { EventBody } from '../../core/db/events/bodies.ts'
import type { Event as Row } from '../../core/db/events/events.ts'
import { parseHeaders } from '../../core/delivery/delivery-headers.ts'
import { giveWay } from '../../core/loop/turn.ts'
import { storedRequest } from '../../core/match/matchable.ts'
import { JsonCheck } from '../../core/request/json-check.ts'
import type { StoredPayload } from '../../core/request/parsed.ts'
import {
  inTurns,
  jsonBase64,
  jsonString,
  jsonValue,
  storedJson,
  textParts,
  type JsonPart,
} from '../answers/json-parts.ts'
import type { Delivery } from '../deliveries/shape.ts'
import { viewEventHead } from './shape.ts'

/** An event and what is shown with it. */
export interface ShownEvent {
  row: Row
  deliveries: z.output<typeof Delivery>[]
}

/**
 * The JSON of an `Event` with its whole body, made while it is taken. A payload that is JSON is copied: parsing 5 MiB and writing
 * it again would take the time of a hundred requests.
 */
export async function eventText(
  shown: ShownEvent,
  body: EventBody,
): Promise<AsyncGenerator<Buffer>> {
  const { row } = shown
  const request = storedRequest({ ...row, headers: parseHeaders(row.headers), raw: body.raw })
  const stored = request.storedPayload
  const isJson = stored.json !== undefined && (await isReadable(stored.json))
  const payload = isJson ? stored : { ...stored, json: undefined }
  return inTurns(membersOf(shown, body, payload))
}

async function isReadable(json: Buffer): Promise<boolean> {
  const check = new JsonCheck()
  for (const text of textParts(json)) {
    await giveWay()
    if (!check.push(text)) return false
  }
  return check.end()
}

function* membersOf(
  { row, deliveries }: ShownEvent,
  { raw, mail }: EventBody,
  { json, otherwise }: StoredPayload,
): Generator<JsonPart> {
  const came = mail ?? raw
  yield `${JSON.stringify(viewEventHead(row)).slice(0, -1)},"payload":`
  if (json === undefined) yield* jsonValue(otherwise())
  else yield* storedJson(json)
  yield ',"raw":'
  yield* jsonString(textParts(came))
  yield ',"rawBase64":'
  yield* jsonBase64(came)
  yield `,"deliveries":${JSON.stringify(deliveries)}}`
}
