import type { PresetConfig } from '../config/verifier-config.ts'
import type { Preset, Presets } from './preset.ts'

type HmacDraft = Extract<PresetConfig, { type: 'hmac' }>

/** Providers that sign the body alone. */
export const BODY_MAC_PRESETS: Presets = {
  github: mac('hex', 'x-hub-signature-256', {
    prefix: 'sha256=',
    eventTypeField: 'header.x-github-event',
    idempotencyKeys: ['header.x-github-delivery'],
  }),
  meta: metaPreset(),
  whatsapp: metaPreset(),
  // Hubs name the algorithm before the signature: YouTube's and most of the others use SHA-1.
  webSub: mac('hex', 'x-hub-signature', {
    prefix: 'sha1=',
    hmac: { algorithm: 'sha1' },
    handshake: 'webSub',
  }),
  bitbucket: mac('hex', 'x-hub-signature', {
    prefix: 'sha256=',
    eventTypeField: 'header.x-event-key',
    idempotencyKeys: ['header.x-request-uuid'],
  }),
  jira: mac('hex', 'x-hub-signature', {
    prefix: 'sha256=',
    eventTypeField: 'body.webhookEvent',
    idempotencyKeys: ['header.x-atlassian-webhook-identifier'],
  }),
  notion: mac('hex', 'x-notion-signature', {
    prefix: 'sha256=',
    handshake: 'notion',
    eventTypeField: 'body.type',
    idempotencyKeys: ['body.id'],
  }),
  gitea: forge('gitea'),
  forgejo: forge('forgejo'),
  gogs: forge('gogs'),
  lemonSqueezy: mac('hex', 'x-signature', { eventTypeField: 'header.x-event-name' }),
  goCardless: mac('hex', 'webhook-signature', {
    eventTypeField: 'body.events[0].resource_type',
    idempotencyKeys: ['body.meta.webhook_id'],
  }),
  coinbaseCommerce: mac('hex', 'x-cc-webhook-signature', {
    eventTypeField: 'body.event.type',
    idempotencyKeys: ['body.event.id'],
  }),
  asana: mac('hex', 'x-hook-signature', {
    handshake: 'asana',
    eventTypeField: 'body.events[0].resource.resource_type',
  }),
  dropbox: mac('hex', 'x-dropbox-signature', { handshake: 'dropbox' }),
  sentry: mac('hex', 'sentry-hook-signature', {
    eventTypeField: 'header.sentry-hook-resource',
    idempotencyKeys: ['header.request-id'],
  }),
  alchemy: mac('hex', 'x-alchemy-signature', {
    eventTypeField: 'body.type',
    idempotencyKeys: ['body.id'],
  }),
  razorpay: mac('hex', 'x-razorpay-signature', {
    eventTypeField: 'body.event',
    idempotencyKeys: ['header.x-razorpay-event-id'],
  }),
  calcom: mac('hex', 'x-cal-signature-256', { eventTypeField: 'body.triggerEvent' }),
  shopify: mac('base64', 'x-shopify-hmac-sha256', {
    eventTypeField: 'header.x-shopify-topic',
    idempotencyKeys: ['header.x-shopify-webhook-id'],
  }),
  woocommerce: mac('base64', 'x-wc-webhook-signature', {
    handshake: 'woocommerce',
    eventTypeField: 'header.x-wc-webhook-topic',
  }),
  xero: mac('base64', 'x-xero-signature', {
    ingestResponse: { kind: 'empty' },
    refusesWithoutBody: true,
    eventTypeField: 'body.events[0].eventCategory',
  }),
  quickbooks: mac('base64', 'intuit-signature', { eventTypeField: 'body[0].type' }),
  docusign: mac('base64', 'x-docusign-signature-*', { eventTypeField: 'body.event' }),
  line: mac('base64', 'x-line-signature', { eventTypeField: 'body.events[0].type' }),
  heroku: mac('base64', 'heroku-webhook-hmac-sha256', {
    eventTypeField: 'body.webhook_metadata.event.include',
    idempotencyKeys: ['body.webhook_metadata.delivery.id'],
  }),
  typeform: mac('base64', 'typeform-signature', {
    prefix: 'sha256=',
    eventTypeField: 'body.event_type',
    idempotencyKeys: ['body.event_id'],
  }),
  x: mac('base64', 'x-twitter-webhooks-signature', { prefix: 'sha256=', handshake: 'x' }),
  airtable: mac('hex', 'x-airtable-content-mac', {
    prefix: 'hmac-sha256=',
    hmac: { secretEncoding: 'base64' },
    ingestResponse: { kind: 'empty' },
  }),
  adyenPlatform: mac('base64', 'hmacsignature', {
    hmac: { secretEncoding: 'hex' },
    eventTypeField: 'body.type',
  }),
  intercom: mac('hex', 'x-hub-signature', {
    prefix: 'sha1=',
    hmac: { algorithm: 'sha1' },
    handshake: 'empty',
    eventTypeField: 'body.topic',
    idempotencyKeys: ['body.id'],
  }),
  vercel: mac('hex', 'x-vercel-signature', {
    hmac: { algorithm: 'sha1' },
    eventTypeField: 'body.type',
    idempotencyKeys: ['body.id'],
  }),
  pagerduty: mac('hex', 'x-pagerduty-signature', {
    prefix: 'v1=',
    hmac: { signature: { itemSeparator: ',' } },
    eventTypeField: 'body.event.event_type',
    idempotencyKeys: ['body.event.id'],
  }),
  circleci: mac('hex', 'circleci-signature', {
    prefix: 'v1=',
    hmac: { signature: { itemSeparator: ',' } },
    eventTypeField: 'header.circleci-event-type',
    idempotencyKeys: ['body.id'],
  }),
}

type Rest = Omit<Preset, 'config'> & { prefix?: string; hmac?: Partial<HmacDraft> }

/** SHA-256 over the body, unless `hmac` says otherwise. */
function mac(encoding: 'hex' | 'base64', header: string, rest: Rest): Preset {
  const { prefix, hmac = {}, ...preset } = rest
  const signature = { names: [header], encoding, ...(prefix === undefined ? {} : { prefix }) }
  return {
    config: {
      algorithm: 'sha256',
      ...hmac,
      type: 'hmac',
      signature: { ...signature, ...hmac.signature },
    },
    ...preset,
  }
}

/** Facebook, Instagram and WhatsApp. */
function metaPreset(): Preset {
  return mac('hex', 'x-hub-signature-256', {
    prefix: 'sha256=',
    needs: ['handshake.verifyToken'],
    handshake: 'meta',
    eventTypeField: 'body.object',
  })
}

/** The forges sign the JSON payload, which a form or a GET carries in `payload`. */
function forge(name: string): Preset {
  return mac('hex', `x-${name}-signature`, {
    hmac: { content: ['{body}', '{form.payload}', '{query.payload}'] },
    allowedMethods: ['POST', 'GET'],
    eventTypeField: `header.x-${name}-event`,
    idempotencyKeys: [`header.x-${name}-delivery`],
  })
}
