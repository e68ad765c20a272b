import { useQuery } from '@tanstack/react-query'

import type { Schemas } from '../../api/client.ts'
import { useProject } from '../../session/project.tsx'

export type Preset = Schemas['VerifierPreset']

export function usePresets() {
  const { api, projectId } = useProject()
  return useQuery({
    queryKey: [projectId, 'presets'],
    queryFn: () => api.listVerifierPresets().then(({ data }) => data),
    staleTime: Infinity,
  })
}

/** Names that people write otherwise than the list of presets does. */
const NAMES: Readonly<Record<string, string>> = {
  awsSns: 'AWS SNS',
  github: 'GitHub',
  gitlab: 'GitLab',
  gitlabSigned: 'GitLab, signed',
  openai: 'OpenAI',
  pagerduty: 'PagerDuty',
  paypal: 'PayPal',
  pubSub: 'Google Pub/Sub',
  graph: 'Microsoft Graph',
  sendgrid: 'SendGrid',
  standardWebhooks: 'Standard Webhooks',
  hubspotV1: 'HubSpot v1',
  hubspotV2: 'HubSpot v2',
  hubspotV3: 'HubSpot v3',
  whatsapp: 'WhatsApp',
  woocommerce: 'WooCommerce',
  circleci: 'CircleCI',
  docusign: 'DocuSign',
  docusignBasic: 'DocuSign, Basic',
  quickbooks: 'QuickBooks',
  goCardless: 'GoCardless',
  livekit: 'LiveKit',
  x: 'X',
}

/** `lemonSqueezy` becomes `Lemon Squeezy`. */
export function providerName(preset: string): string {
  const spaced = preset.replaceAll(/([a-z])([A-Z])/g, '$1 $2')
  return NAMES[preset] ?? spaced.charAt(0).toUpperCase() + spaced.slice(1)
}

/** A verifier in a word or two: its provider where it has one. */
export function verifierWord(verifier: {
  type: string
  preset?: string
  require?: string
}): string {
  const { type, preset, require } = verifier
  if (preset !== undefined) return providerName(preset)
  if (type === 'email') return require === 'none' ? 'none' : (require ?? type).toUpperCase()
  return type === 'none' ? 'none' : type.replaceAll('_', ' ')
}

/** First in the list, because most people look for them. */
export const POPULAR = [
  'stripe',
  'github',
  'shopify',
  'slack',
  'standardWebhooks',
  'twilio',
] as const
