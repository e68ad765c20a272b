import type { Preset, Presets } from './preset.ts'

/** The message is that of every event of a mail; the trace is that of one event, over its retries. */
const POSTMARK = {
  eventTypeField: 'body.RecordType',
  idempotencyKeys: ['header.x-pm-webhook-trace-id'],
}

/** Providers that send the secret itself, and the two that sign in ways of their own with one. */
export const SHARED_SECRET_PRESETS: Presets = {
  gitlab: token('header', 'x-gitlab-token', {
    eventTypeField: 'header.x-gitlab-event',
    // The UUID of the event is that of the change, which hooks of many kinds share.
    idempotencyKeys: ['header.idempotency-key'],
  }),
  telegram: token('header', 'x-telegram-bot-api-secret-token', {
    idempotencyKeys: ['body.update_id'],
  }),
  okta: token('header', 'authorization', {
    handshake: 'okta',
    ingestResponse: { kind: 'empty' },
    eventTypeField: 'body.data.events[0].eventType',
    idempotencyKeys: ['body.eventId'],
  }),
  auth0: token('header', 'authorization', { eventTypeField: 'body[0].data.type' }),
  graph: { ...clientState(), eventTypeField: 'body.value[0].changeType' },
  // Its notifications only say that something has changed.
  sharePoint: clientState(),
  dockerHub: token('query', 'token', {}),
  mailchimp: token('query', 'token', { handshake: 'empty', eventTypeField: 'body.type' }),
  eventGrid: token('query', 'token', {
    handshake: 'eventGrid',
    eventTypeField: 'body[0].eventType',
  }),
  // In binary mode; the structured one has the same attributes in the body.
  cloudEvents: {
    config: {
      type: 'shared_token',
      token: { in: 'header', name: 'authorization', prefix: 'Bearer ' },
    },
    handshake: 'cloudEvents',
    eventTypeField: 'header.ce-type',
    idempotencyKeys: ['header.ce-source', 'header.ce-id'],
  },
  azure: token('query', 'token', {}),
  postmarkToken: token('query', 'token', POSTMARK),
  postmark: basic(POSTMARK),
  chargebee: basic({ eventTypeField: 'body.event_type', idempotencyKeys: ['body.id'] }),
  sendgridInbound: basic({}),
  zendeskBasic: basic({
    eventTypeField: 'body.type',
    idempotencyKeys: ['header.x-zendesk-webhook-invocation-id'],
  }),
  docusignBasic: basic({ eventTypeField: 'body.event' }),
  twilio: {
    config: { type: 'twilio' },
    // Twilio reads the answer to a message or call as TwiML: this one replies nothing.
    ingestResponse: { kind: 'static', body: '<Response/>', contentType: 'text/xml' },
    allowedMethods: ['POST', 'GET'],
    eventTypeField: 'body.EventType',
    idempotencyKeys: ['header.i-twilio-idempotency-token'],
  },
  adyen: {
    config: { type: 'adyen' },
    ingestResponse: { kind: 'static', body: '[accepted]', contentType: 'text/plain' },
    eventTypeField: 'body.notificationItems[0].NotificationRequestItem.eventCode',
  },
}

function token(
  place: 'header' | 'query' | 'json',
  name: string,
  rest: Omit<Preset, 'config'>,
): Preset {
  return { config: { type: 'shared_token', token: { in: place, name } }, ...rest }
}

function basic(rest: Omit<Preset, 'config' | 'needs'>): Preset {
  return { config: { type: 'basic_auth' }, needs: ['username'], ...rest }
}

/** Microsoft repeats the client state in every change of a batch. */
function clientState(): Preset {
  return token('json', 'value[*].clientState', { handshake: 'graph' })
}
