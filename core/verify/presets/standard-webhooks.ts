import type { Preset, Presets } from './preset.ts'

/** Senders of Standard Webhooks, most of them through Svix. */
export const STANDARD_WEBHOOKS_PRESETS: Presets = {
  standardWebhooks: sender({ family: 'webhook' }),
  svix: sender({ family: 'svix' }),
  clerk: sender({ family: 'svix' }),
  resend: sender({ family: 'svix' }),
  openai: sender({ family: 'webhook', secretEncoding: 'prefixed' }),
  gitlabSigned: {
    ...sender({ family: 'webhook' }),
    eventTypeField: 'header.x-gitlab-event',
  },
  brex: sender({ family: 'svix' }),
  lithic: sender({ family: 'webhook' }),
  render: sender({ family: 'webhook' }),
  replicate: sender({ family: 'webhook' }),
  incidentIo: sender({ family: 'svix' }),
  polar: sender({ family: 'webhook', secretEncoding: 'utf8' }),
  bigCommerce: {
    ...sender({ family: 'webhook', secretEncoding: 'utf8' }),
    eventTypeField: 'body.scope',
  },
}

/** Both header families are read; the own one only tells where the id is. */
function sender(options: {
  family: 'webhook' | 'svix'
  secretEncoding?: 'utf8' | 'prefixed'
}): Preset {
  const { family, secretEncoding = 'base64' } = options
  const other = family === 'svix' ? 'webhook' : 'svix'
  return {
    config: {
      type: 'standard_webhooks',
      secretEncoding,
      headerPrefixes: [`${family}-`, `${other}-`],
    },
    eventTypeField: 'body.type',
    idempotencyKeys: [`header.${family}-id`],
  }
}
