import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'

import type { SecretSlots } from '../config/secrets.ts'
import type { ConfigOf } from '../config/verifier-config.ts'
import { decodedSlots, decodeExact, sameBytes } from '../request/encoding.ts'
import { type Check, rejected, type Slot, VALID } from '../request/signed-request.ts'
import { documentOf, isSingle, scalarText, viewOf, walk } from '../request/view.ts'

const MAC_BYTES = 32

/** Signed in this order, joined with colons, absent ones empty. (Adyen: HMAC signatures) */
const SIGNED_FIELDS: readonly (readonly string[])[] = [
  ['pspReference'],
  ['originalReference'],
  ['merchantAccountCode'],
  ['merchantReference'],
  ['amount', 'value'],
  ['amount', 'currency'],
  ['eventCode'],
  ['success'],
]

const ITEM = ['notificationItems', '*', 'NotificationRequestItem']
const SIGNATURE = ['additionalData', 'hmacSignature']
const READ_FIELDS = [...SIGNED_FIELDS, SIGNATURE]

/** Each notification of a batch carries its own signature, and each must hold: one good item vouches for no other. */
export function compileAdyen(_config: ConfigOf<'adyen'>, slots: SecretSlots): Check {
  const keys = decodedSlots(slots, 'hex').map(([slot, secret]): [Slot, KeyObject] => [
    slot,
    createSecretKey(secret),
  ])
  return (request) => {
    const document = documentOf(viewOf(request))
    const items = walk(document?.value, ['notificationItems'])
    if (!Array.isArray(items) || items.length === 0) return rejected('missing_signature_header')
    const notifications = items.map((item) => walk(item, ['NotificationRequestItem']))
    const signatures = notifications.map(signatureText)
    if (signatures.includes('')) return rejected('missing_signature_header')
    if (!READ_FIELDS.every((path) => isSingle(document, [...ITEM, ...path]))) {
      return rejected('malformed_signature_header')
    }
    const decoded = signatures.map((text) => decodeExact(text, 'base64'))
    if (decoded.some((bytes) => bytes?.length !== MAC_BYTES)) {
      return rejected('malformed_signature_header')
    }
    let worst: Slot = 'current'
    for (const [index, item] of notifications.entries()) {
      const slot = matchingSlot(keys, item, decoded[index])
      if (slot === undefined) return rejected('signature_mismatch')
      if (slot === 'previous') worst = slot
    }
    return VALID[worst]
  }
}

function signatureText(notification: unknown): string {
  const value = walk(notification, SIGNATURE)
  return typeof value === 'string' ? value.trim() : ''
}

function matchingSlot(
  keys: readonly [Slot, KeyObject][],
  notification: unknown,
  signature: Buffer | undefined,
): Slot | undefined {
  if (signature === undefined) return undefined
  const content = SIGNED_FIELDS.map((path) => scalarText(walk(notification, path)) ?? '').join(':')
  const match = keys.find(([, key]) =>
    sameBytes(signature, createHmac('sha256', key).update(content, 'latin1').digest()),
  )
  return match?.[0]
}
