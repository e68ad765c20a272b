import type { Preset, Presets } from './preset.ts'

/** Senders of Standard Webhooks, most of them through Svix. */
export const STANDARD_WEBHOOKS_PRESETS: Presets = {
  standardWebhooks: sender({ family: 'webhook' }),
  svix: sender({ family: 'svix' }),
  clerk: sender({ family: 'svix' }),
  resend: sender({ family: 'svix' }),
  openai: sender({ family: 'webhook', secretEncoding: 'prefixed' }),
  gitlabSigned: sender({ family: 'webhook', type: 'header.x-gitlab-event' }),
  brex: sender({ family: 'webhook', type: 'body.event_type' }),
  lithic: sender({ family: 'webhook', type: 'body.event_type' }),
  render: sender({ family: 'webhook' }),
  // The body is the prediction itself, which has no type.
  replicate: sender({ family: 'webhook', type: undefined }),
  incidentIo: sender({ family: 'webhook', type: 'body.event_type' }),
  polar: sender({ family: 'webhook', secretEncoding: 'utf8' }),
  bigCommerce: sender({ family: 'webhook', secretEncoding: 'utf8', type: 'body.scope' }),
}

/** Both header families are read; the own one only tells where the id is. */
function sender(options: {
  family: 'webhook' | 'svix'
  secretEncoding?: 'utf8' | 'prefixed'
  type?: string | undefined
}): Preset {
  const { family, secretEncoding = 'base64' } = options
  const other = family === 'svix' ? 'webhook' : 'svix'
  const type = 'type' in options ? options.type : 'body.type'
  return {
    config: {
      type: 'standard_webhooks',
      secretEncoding,
      headerPrefixes: [`${family}-`, `${other}-`],
    },
    ...(type !== undefined && { eventTypeField: type }),
    idempotencyKeys: [`header.${family}-id`],
  }
}
