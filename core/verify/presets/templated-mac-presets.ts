import type { PresetConfig } from '../config/verifier-config.ts'
import type { Presets } from './preset.ts'

type HmacDraft = Extract<PresetConfig, { type: 'hmac' }>

/** Providers that sign more than the body: a time, an id, the URL, headers, or fields of the body. */
export const TEMPLATED_MAC_PRESETS: Presets = {
  trello: {
    config: {
      type: 'hmac',
      algorithm: 'sha1',
      signature: { names: ['x-trello-webhook'], encoding: 'base64' },
      content: ['{body}{url}', '{body}{iri}'],
    },
    handshake: 'empty',
    eventTypeField: 'body.action.type',
    idempotencyKeys: ['body.action.id'],
  },
  mandrill: {
    config: {
      type: 'hmac',
      algorithm: 'sha1',
      signature: { names: ['x-mandrill-signature'], encoding: 'base64' },
      content: ['{url}{form.sorted}', '{iri}{form.sorted}'],
    },
    handshake: 'empty',
  },
  slack: {
    config: versionedV0('x-slack-signature', 'x-slack-request-timestamp'),
    handshake: 'slack',
    // A slash command shows the answer's body to the user.
    ingestResponse: { kind: 'empty' },
    eventTypeField: 'body.event.type',
    idempotencyKeys: ['body.event_id'],
  },
  zoom: {
    config: versionedV0('x-zm-signature', 'x-zm-request-timestamp'),
    handshake: 'zoom',
    eventTypeField: 'body.event',
  },
  stripe: {
    config: pairs({ name: 'stripe-signature', toleranceSeconds: 300 }),
    eventTypeField: 'body.type',
    idempotencyKeys: ['body.id'],
  },
  mux: {
    config: pairs({ name: 'mux-signature', toleranceSeconds: 300 }),
    eventTypeField: 'body.type',
    idempotencyKeys: ['body.id'],
  },
  calendly: {
    config: pairs({ name: 'calendly-webhook-signature', toleranceSeconds: 180 }),
    eventTypeField: 'body.event',
  },
  workos: {
    config: pairs({ name: 'workos-signature', toleranceSeconds: 180, format: 'unix_ms' }),
    eventTypeField: 'body.event',
    idempotencyKeys: ['body.id'],
  },
  sanity: {
    config: pairs({
      name: 'sanity-webhook-signature',
      toleranceSeconds: 300,
      format: 'unix_ms',
      encoding: 'base64url',
    }),
    eventTypeField: 'header.sanity-operation',
    idempotencyKeys: ['header.idempotency-key'],
  },
  paddle: {
    config: {
      type: 'hmac',
      algorithm: 'sha256',
      signature: {
        names: ['paddle-signature'],
        format: 'pairs',
        encoding: 'hex',
        itemSeparator: ';',
        signatureKey: 'h1',
        timestampKey: 'ts',
      },
      content: '{timestamp}:{body}',
      timestamp: { in: 'signature', format: 'unix', toleranceSeconds: 300 },
    },
    eventTypeField: 'body.event_type',
    idempotencyKeys: ['body.notification_id'],
  },
  recurly: {
    config: {
      type: 'hmac',
      algorithm: 'sha256',
      signature: {
        names: ['recurly-signature'],
        format: 'positional',
        encoding: 'hex',
        itemSeparator: ',',
      },
      content: '{timestamp}.{body}',
      timestamp: { in: 'signature', format: 'unix_ms', toleranceSeconds: 300 },
    },
    eventTypeField: 'body.event_type',
  },
  revolut: {
    config: {
      type: 'hmac',
      algorithm: 'sha256',
      signature: {
        names: ['revolut-signature'],
        encoding: 'hex',
        prefix: 'v1=',
        itemSeparator: ',',
      },
      content: 'v1.{timestamp}.{body}',
      timestamp: header('revolut-request-timestamp', 'unix_ms', 300),
    },
    eventTypeField: 'body.event',
  },
  coinbaseCdp: {
    config: {
      ...pairs({ name: 'x-hook0-signature', toleranceSeconds: 300 }),
      content: '{timestamp}.{signature.h}.{signedHeaders}.{body}',
      signedHeaders: {
        in: 'signature',
        name: 'h',
        separator: ' ',
        sort: false,
        render: 'values',
        joiner: '.',
      },
    },
    eventTypeField: 'body.eventType',
    idempotencyKeys: ['header.x-event-id'],
  },
  contentful: {
    config: {
      type: 'hmac',
      algorithm: 'sha256',
      signature: { names: ['x-contentful-signature'], encoding: 'hex' },
      content: ['{pathEncoded}', '{iriEncoded}', '{path}'].map(
        (path) => `{method}\n${path}\n{signedHeaders}\n{body}`,
      ),
      timestamp: header('x-contentful-timestamp', 'unix_ms', 30),
      signedHeaders: {
        in: 'header',
        name: 'x-contentful-signed-headers',
        separator: ',',
        sort: true,
        render: 'pairs',
        joiner: ';',
      },
    },
    eventTypeField: 'header.x-contentful-topic',
    idempotencyKeys: ['header.x-contentful-idempotency-key'],
  },
  square: {
    config: {
      type: 'hmac',
      algorithm: 'sha256',
      signature: { names: ['x-square-hmacsha256-signature'], encoding: 'base64' },
      content: ['{url}{body}', '{iri}{body}'],
    },
    eventTypeField: 'body.type',
    idempotencyKeys: ['body.event_id'],
  },
  linear: {
    config: {
      type: 'hmac',
      algorithm: 'sha256',
      signature: { names: ['linear-signature'], encoding: 'hex' },
      timestamp: { in: 'json', name: 'webhookTimestamp', format: 'unix_ms', toleranceSeconds: 60 },
    },
    eventTypeField: 'body.type',
    idempotencyKeys: ['header.linear-delivery'],
  },
  zendesk: {
    config: {
      type: 'hmac',
      algorithm: 'sha256',
      signature: { names: ['x-zendesk-webhook-signature'], encoding: 'base64' },
      content: '{timestamp}{body}',
      timestamp: header('x-zendesk-webhook-signature-timestamp', 'iso8601', 300),
    },
    eventTypeField: 'body.type',
    idempotencyKeys: ['header.x-zendesk-webhook-invocation-id'],
  },
  hubspotV3: {
    config: {
      type: 'hmac',
      algorithm: 'sha256',
      signature: { names: ['x-hubspot-signature-v3'], encoding: 'base64' },
      content: ['{url}', '{urlUnescaped}', '{iri}'].map((url) => `{method}${url}{body}{timestamp}`),
      timestamp: header('x-hubspot-request-timestamp', 'unix_ms', 300),
    },
    eventTypeField: 'body[0].subscriptionType',
  },
  hubspotV2: {
    config: hubspotHash(['{secret}{method}{url}{body}', '{secret}{method}{iri}{body}']),
    eventTypeField: 'body[0].subscriptionType',
  },
  hubspotV1: {
    config: hubspotHash(['{secret}{body}']),
    eventTypeField: 'body[0].subscriptionType',
  },
  twitch: {
    config: {
      type: 'hmac',
      algorithm: 'sha256',
      signature: {
        names: ['twitch-eventsub-message-signature'],
        encoding: 'hex',
        prefix: 'sha256=',
      },
      content: '{id}{timestamp}{body}',
      id: { in: 'header', name: 'twitch-eventsub-message-id' },
      timestamp: header('twitch-eventsub-message-timestamp', 'iso8601', 600),
    },
    handshake: 'twitch',
    eventTypeField: 'header.twitch-eventsub-subscription-type',
    idempotencyKeys: ['header.twitch-eventsub-message-id'],
  },
  box: {
    config: {
      type: 'hmac',
      algorithm: 'sha256',
      signature: {
        names: ['box-signature-primary', 'box-signature-secondary'],
        encoding: 'base64',
      },
      content: ['{body}{timestamp}', '{bodyEscaped}{timestamp}'],
      timestamp: header('box-delivery-timestamp', 'iso8601', 600),
      requiredHeaders: { 'box-signature-version': '1', 'box-signature-algorithm': 'HmacSHA256' },
    },
    eventTypeField: 'body.trigger',
    // A retry has another delivery id.
    idempotencyKeys: ['body.id'],
  },
  // The body is not signed, so the token of each signature is the only thing that stops a second use.
  mailgun: {
    config: {
      type: 'hmac',
      algorithm: 'sha256',
      signature: {
        in: 'json',
        names: ['signature.signature', 'signature.parent-signature'],
        encoding: 'hex',
      },
      content: '{timestamp}{json.signature.token}',
      timestamp: {
        in: 'json',
        name: 'signature.timestamp',
        format: 'unix',
        toleranceSeconds: 0,
      },
    },
    eventTypeField: 'body.event-data.event',
    idempotencyKeys: ['body.signature.token'],
    forcesIdempotencyKeys: true,
  },
  // The mails that a route forwards; signed as the webhooks are.
  mailgunRoutes: {
    config: {
      type: 'hmac',
      algorithm: 'sha256',
      signature: { in: 'form', names: ['signature'], encoding: 'hex' },
      content: '{timestamp}{form.token}',
      timestamp: { in: 'form', name: 'timestamp', format: 'unix', toleranceSeconds: 0 },
    },
    idempotencyKeys: ['body.token'],
    forcesIdempotencyKeys: true,
  },
  braintree: {
    config: {
      type: 'hmac',
      algorithm: 'sha1',
      secretEncoding: 'sha1',
      signature: {
        in: 'form',
        names: ['bt_signature'],
        format: 'pairs',
        encoding: 'hex',
        itemSeparator: '&',
        keySeparator: '|',
      },
      content: ['{form.bt_payload}', '{form.bt_payload}\n'],
    },
    needs: ['signature.signatureKey'],
    handshake: 'braintree',
  },
}

function header(
  name: string,
  format: 'unix' | 'unix_ms' | 'iso8601',
  toleranceSeconds: number,
): NonNullable<HmacDraft['timestamp']> {
  return { in: 'header', name, format, toleranceSeconds }
}

/** `v0=<hex>` over `v0:timestamp:body`. */
function versionedV0(signature: string, timestamp: string): HmacDraft {
  return {
    type: 'hmac',
    algorithm: 'sha256',
    signature: { names: [signature], encoding: 'hex', prefix: 'v0=' },
    content: 'v0:{timestamp}:{body}',
    timestamp: header(timestamp, 'unix', 300),
  }
}

/** `t=<time>,v1=<signature>` over `time.body`. */
function pairs(scheme: {
  name: string
  toleranceSeconds: number
  format?: 'unix' | 'unix_ms'
  encoding?: 'hex' | 'base64url'
}): HmacDraft {
  return {
    type: 'hmac',
    algorithm: 'sha256',
    signature: {
      names: [scheme.name],
      format: 'pairs',
      encoding: scheme.encoding ?? 'hex',
      itemSeparator: ',',
      signatureKey: 'v1',
      timestampKey: 't',
    },
    content: '{timestamp}.{body}',
    timestamp: {
      in: 'signature',
      format: scheme.format ?? 'unix',
      toleranceSeconds: scheme.toleranceSeconds,
    },
  }
}

function hubspotHash(content: string[]): HmacDraft {
  return {
    type: 'hmac',
    algorithm: 'sha256',
    construction: 'hash',
    signature: { names: ['x-hubspot-signature'], encoding: 'hex' },
    content,
  }
}
