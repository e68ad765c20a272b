import type { Presets } from './preset.ts'

/** Providers that sign with a private key: signatures, JSON Web Tokens, Amazon SNS. */
export const PUBLIC_KEY_PRESETS: Presets = {
  sendgrid: {
    config: {
      type: 'public_key',
      algorithm: 'ecdsa_p256_sha256',
      signature: { names: ['x-twilio-email-event-webhook-signature'], encoding: 'base64' },
      content: '{timestamp}{body}',
      timestamp: {
        in: 'header',
        name: 'x-twilio-email-event-webhook-timestamp',
        format: 'unix',
        toleranceSeconds: 300,
      },
    },
    needs: ['publicKeys'],
    eventTypeField: 'body[0].event',
  },
  discord: {
    config: {
      type: 'public_key',
      algorithm: 'ed25519',
      signature: { names: ['x-signature-ed25519'], encoding: 'hex' },
      content: '{timestamp}{body}',
      timestamp: {
        in: 'header',
        name: 'x-signature-timestamp',
        format: 'unix',
        toleranceSeconds: 300,
      },
    },
    needs: ['publicKeys'],
    handshake: 'discord',
    ingestResponse: { kind: 'empty', status: 204 },
    eventTypeField: 'body.event.type',
  },
  telnyx: {
    config: {
      type: 'public_key',
      algorithm: 'ed25519',
      signature: { names: ['telnyx-signature-ed25519'], encoding: 'base64' },
      content: '{timestamp}|{body}',
      timestamp: {
        in: 'header',
        name: 'telnyx-timestamp',
        format: 'unix',
        toleranceSeconds: 300,
      },
    },
    needs: ['publicKeys'],
    eventTypeField: 'body.data.event_type',
    idempotencyKeys: ['body.data.id'],
  },
  kick: {
    config: {
      type: 'public_key',
      algorithm: 'rsa_sha256',
      signature: { names: ['kick-event-signature'], encoding: 'base64' },
      content: '{id}.{timestamp}.{body}',
      id: { in: 'header', name: 'kick-event-message-id' },
      timestamp: {
        in: 'header',
        name: 'kick-event-message-timestamp',
        format: 'iso8601',
        toleranceSeconds: 300,
      },
    },
    needs: ['publicKeys'],
    eventTypeField: 'header.kick-event-type',
    idempotencyKeys: ['header.kick-event-message-id'],
  },
  // Whether a retry is signed anew is not documented: an old time is no fault.
  paypal: {
    config: {
      type: 'public_key',
      algorithm: 'rsa_sha256',
      signature: { names: ['paypal-transmission-sig'], encoding: 'base64' },
      content: '{id}|{timestamp}|{param.webhookId}|{bodyCrc32}',
      id: { in: 'header', name: 'paypal-transmission-id' },
      timestamp: {
        in: 'header',
        name: 'paypal-transmission-time',
        format: 'iso8601',
        toleranceSeconds: 0,
      },
      keySource: {
        kind: 'cert_url',
        header: 'paypal-cert-url',
        hosts: ['api.paypal.com', 'api.sandbox.paypal.com'],
      },
      requiredHeaders: { 'paypal-auth-algo': 'SHA256withRSA' },
    },
    needs: ['params.webhookId'],
    eventTypeField: 'body.event_type',
    idempotencyKeys: ['body.id'],
  },
  plaid: {
    config: {
      type: 'jwt',
      token: { in: 'header', name: 'plaid-verification' },
      algorithms: ['ES256'],
      keySource: { kind: 'plaid', environment: 'production' },
      bodyHash: { claim: 'request_body_sha256', encoding: 'hex' },
      maxAgeSeconds: 300,
    },
    needs: ['keySource.clientId'],
    eventTypeField: 'body.webhook_code',
  },
  netlify: {
    config: {
      type: 'jwt',
      token: { in: 'header', name: 'x-webhook-signature' },
      algorithms: ['HS256'],
      issuer: ['netlify'],
      bodyHash: { claim: 'sha256', encoding: 'hex' },
    },
    eventTypeField: 'header.x-netlify-event',
  },
  livekit: {
    config: {
      type: 'jwt',
      token: { in: 'header', name: 'authorization' },
      algorithms: ['HS256'],
      bodyHash: { claim: 'sha256', encoding: 'base64' },
      clockSkewSeconds: 10,
    },
    eventTypeField: 'body.event',
    idempotencyKeys: ['body.id'],
  },
  pubSub: {
    config: {
      type: 'jwt',
      token: { in: 'header', name: 'authorization', prefix: 'Bearer ' },
      algorithms: ['RS256'],
      keySource: { kind: 'jwks', url: 'https://www.googleapis.com/oauth2/v3/certs' },
      issuer: ['https://accounts.google.com'],
      claims: { email_verified: true },
    },
    needs: ['audience', 'claims.email'],
    // A message id is one of its topic's.
    idempotencyKeys: ['body.subscription', 'body.message.messageId'],
  },
  eventGridEntra: {
    config: {
      type: 'jwt',
      token: { in: 'header', name: 'authorization', prefix: 'Bearer ' },
      algorithms: ['RS256'],
      keySource: {
        kind: 'jwks',
        url: 'https://login.microsoftonline.com/common/discovery/v2.0/keys',
      },
    },
    needs: ['issuer', 'audience'],
    handshake: 'eventGrid',
    eventTypeField: 'body[0].eventType',
  },
  awsSns: {
    config: { type: 'aws_sns' },
    needs: ['topicArns'],
    handshake: 'awsSns',
    eventTypeField: 'body.Type',
    idempotencyKeys: ['body.MessageId'],
  },
}
