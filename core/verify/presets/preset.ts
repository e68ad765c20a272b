import type { IngestResponse } from '../config/ingest-response.ts'
import type { PresetConfig } from '../config/verifier-config.ts'

/** The exchange by which a provider makes sure of an endpoint before it sends. `empty`: GET or HEAD must be 200. */
export type HandshakeKind =
  | 'meta'
  | 'webSub'
  | 'x'
  | 'dropbox'
  | 'okta'
  | 'braintree'
  | 'empty'
  | 'graph'
  | 'eventGrid'
  | 'cloudEvents'
  | 'slack'
  | 'discord'
  | 'twitch'
  | 'zoom'
  | 'awsSns'
  | 'asana'
  | 'notion'
  | 'woocommerce'

/** The form of a provider's webhooks. Absent members are those of any other source. */
export interface Preset {
  config: PresetConfig
  /** Members that only the user knows, besides `secret`. */
  needs?: readonly string[]
  handshake?: HandshakeKind
  ingestResponse?: IngestResponse
  /** The provider tries the endpoint with wrong signatures, and takes no 401 with a body. */
  refusesWithoutBody?: true
  allowedMethods?: readonly ('POST' | 'GET')[]
  /** Suggestions for the source: selectors of the event's type and of what names one delivery. */
  eventTypeField?: string
  idempotencyKeys?: readonly string[]
  /** Without these keys a request that was seen once can be sent again. */
  forcesIdempotencyKeys?: true
}

export type Presets = Readonly<Record<string, Preset>>
