// Made from the OpenAPI document by `npm run test:openapi -- client-types -u`; do not edit.

export interface paths {
  '/v1/projects': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['listProjects']
    put?: never
    post: operations['createProject']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/projects/{id}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['getProject']
    put?: never
    post?: never
    delete: operations['deleteProject']
    options?: never
    head?: never
    patch: operations['updateProject']
    trace?: never
  }
  '/v1/sources': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['listSources']
    put?: never
    post: operations['createSource']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/sources/{id}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['getSource']
    put?: never
    post?: never
    delete: operations['deleteSource']
    options?: never
    head?: never
    patch: operations['updateSource']
    trace?: never
  }
  '/v1/sources/{id}/toggle': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    post: operations['toggleSource']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/sources/{id}/rotate-mask': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    post: operations['rotateSourceMask']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/sources/{id}/rotate-secret': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    post: operations['rotateSourceSecret']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/sources/{id}/cancel-rotation': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    post: operations['cancelSourceRotation']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/verifier-presets': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['listVerifierPresets']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/sources/{id}/test-signature': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    post: operations['testSignature']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/destinations': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['listDestinations']
    put?: never
    post: operations['createDestination']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/destinations/{id}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['getDestination']
    put?: never
    post?: never
    delete: operations['deleteDestination']
    options?: never
    head?: never
    patch: operations['updateDestination']
    trace?: never
  }
  '/v1/destinations/{id}/toggle': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    post: operations['toggleDestination']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/destinations/{id}/signing-secret': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['getSigningSecret']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/destinations/{id}/rotate-signing-secret': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    post: operations['rotateSigningSecret']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/destinations/{id}/test-delivery': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    post: operations['testDelivery']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/connections': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['listConnections']
    put?: never
    post: operations['createConnection']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/connections/{id}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['getConnection']
    put?: never
    post?: never
    delete: operations['deleteConnection']
    options?: never
    head?: never
    patch: operations['updateConnection']
    trace?: never
  }
  '/v1/connections/{id}/toggle': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    post: operations['toggleConnection']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/connectors': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['listConnectors']
    put?: never
    post: operations['createConnector']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/connectors/{id}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['getConnector']
    put?: never
    post?: never
    delete: operations['deleteConnector']
    options?: never
    head?: never
    patch: operations['updateConnector']
    trace?: never
  }
  '/v1/connectors/{id}/toggle-disabled': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    post: operations['toggleConnector']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/connectors/{id}/regenerate-enrollment': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    post: operations['regenerateEnrollment']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/connectors/by-name/{name}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put: operations['upsertConnector']
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/connectors/{id}/replicas': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['listReplicas']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/connectors/{id}/replicas/{replicaId}/revoke': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    post: operations['revokeReplica']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/connectors/bootstrap': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    post: operations['bootstrapReplica']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/connectors/replicas/heartbeat': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    post: operations['reportReplica']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/projects/by-name/{name}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put: operations['upsertProject']
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/sources/by-name/{name}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put: operations['upsertSource']
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/destinations/by-name/{name}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put: operations['upsertDestination']
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/connections/by-name/{name}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put: operations['upsertConnection']
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/connections/test-filter': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    post: operations['testFilter']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/events': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['listEvents']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/events/has-any': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['hasAnyEvent']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/events/{id}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['getEvent']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/events/{id}/timeline': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['getEventTimeline']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/events/{id}/replay': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    post: operations['replayEvent']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/events/stream': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['streamEvents']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/deliveries': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['listDeliveries']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/deliveries/{id}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['getDelivery']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/deliveries/{id}/retry': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    post: operations['retryDelivery']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/deliveries/{id}/cancel': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    post: operations['cancelDelivery']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/billing/plan': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['getPlan']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/billing/usage': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['getUsage']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/billing/cancel': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    post: operations['cancelSubscription']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/billing/resume': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    post: operations['resumeSubscription']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/billing/change-plan': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    post: operations['changePlan']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/billing/revert-scheduled-change': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    post: operations['revertScheduledChange']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/stats/dashboard': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['getDashboard']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/stats/backlog': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['getBacklog']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/deliveries/stats': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['getWaitingDeliveries']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/operations': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['listOperations']
    put?: never
    post: operations['createOperation']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/operations/plan': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    post: operations['planOperation']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/operations/{id}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['getOperation']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/operations/{id}/cancel': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    post: operations['cancelOperation']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/v1/openapi.json': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get: operations['getOpenApi']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
}
export type webhooks = Record<string, never>
export interface components {
  schemas: {
    ProjectList: {
      data: components['schemas']['Project'][]
      nextCursor: string | null
    }
    Project: {
      id: string
      organisationId: string
      name: string
      isDefault: boolean
      metadata: components['schemas']['Metadata']
      createdAt: string
      updatedAt: string
    }
    Metadata: {
      [key: string]: string
    }
    SourceList: {
      data: components['schemas']['Source'][]
      nextCursor: string | null
    }
    Source: {
      id: string
      projectId: string
      name: string
      kind: 'http' | 'email'
      maskId: string
      ingestUrl: string
      ingestAddress: string | null
      isEnabled: boolean
      verifier: components['schemas']['VerifierConfig']
      secretHint: string | null
      secretRotation: components['schemas']['SourceSecretOverlap'] | null
      bodyAuthenticated: boolean
      eventTypeField: string | null
      idempotencyKeys: string[]
      allowedMethods: ('POST' | 'PUT' | 'PATCH' | 'DELETE' | 'GET')[]
      maxPayloadSizeKb: number
      ingestResponse: components['schemas']['IngestResponse']
      handshake: components['schemas']['Handshake'] | null
      rateLimit: number
      lastEventAt: string | null
      lastHandshakeAt: string | null
      metadata: components['schemas']['Metadata']
      createdAt: string
      updatedAt: string
    }
    NoVerifier: {
      preset?: string
      type: 'none'
    }
    BasicAuthVerifier: {
      preset?: string
      type: 'basic_auth'
      username: string
      secret?: string
    }
    SharedTokenVerifier: {
      preset?: string
      type: 'shared_token'
      token: components['schemas']['TokenLocation']
      secret?: string
    }
    TokenLocation: {
      in: 'header' | 'query' | 'json' | 'form'
      name: string
      prefix?: string
    }
    StandardWebhooksVerifier: {
      preset?: string
      type: 'standard_webhooks'
      secret?: string
      publicKeys?: string[]
      headerPrefixes: string[]
      secretEncoding: 'base64' | 'utf8' | 'prefixed'
      toleranceSeconds: number
    }
    HmacVerifier: {
      preset?: string
      signature: components['schemas']['SignatureLocation']
      content: components['schemas']['SignedContent']
      timestamp?: components['schemas']['TimestampLocation']
      id?: components['schemas']['RequestLocation']
      signedHeaders?: components['schemas']['SignedHeaders']
      params?: {
        [key: string]: string
      }
      requiredHeaders?: {
        [key: string]: string
      }
      url?: string
      type: 'hmac'
      algorithm: 'sha1' | 'sha256' | 'sha512'
      construction: 'hmac' | 'hash'
      secret?: string
      secretEncoding: 'utf8' | 'base64' | 'hex' | 'sha1'
    }
    SignatureLocation: {
      in: 'header' | 'json' | 'form' | 'query'
      names: string[]
      format: 'list' | 'pairs' | 'positional'
      encoding: 'hex' | 'base64' | 'base64url'
      prefix?: string
      itemSeparator?: string
      keySeparator?: string
      signatureKey?: string
      timestampKey?: string
    }
    SignedContent: string | string[]
    TimestampLocation: {
      in: 'header' | 'signature' | 'json' | 'form'
      name?: string
      format: 'unix' | 'unix_ms' | 'iso8601'
      toleranceSeconds: number
    }
    RequestLocation: {
      in: 'header' | 'query' | 'json' | 'form'
      name: string
    }
    SignedHeaders: {
      in: 'header' | 'signature'
      name: string
      separator: string
      sort: boolean
      render: 'pairs' | 'values'
      joiner: string
    }
    PublicKeyVerifier: {
      preset?: string
      signature: components['schemas']['SignatureLocation']
      content: components['schemas']['SignedContent']
      timestamp?: components['schemas']['TimestampLocation']
      id?: components['schemas']['RequestLocation']
      signedHeaders?: components['schemas']['SignedHeaders']
      params?: {
        [key: string]: string
      }
      requiredHeaders?: {
        [key: string]: string
      }
      url?: string
      type: 'public_key'
      algorithm: 'ed25519' | 'ecdsa_p256_sha256' | 'rsa_sha256' | 'rsa_sha1'
      publicKeys?: string[]
      keySource?: components['schemas']['CertificateSource']
    }
    CertificateSource: {
      kind: 'cert_url'
      header: string
      hosts: string[]
    }
    JwtVerifier: {
      preset?: string
      type: 'jwt'
      token: components['schemas']['TokenLocation']
      algorithms: (
        | 'HS256'
        | 'HS384'
        | 'HS512'
        | 'RS256'
        | 'RS384'
        | 'RS512'
        | 'PS256'
        | 'ES256'
        | 'ES384'
        | 'EdDSA'
      )[]
      secret?: string
      keySource: components['schemas']['JwtKeySource']
      issuer?: string[]
      audience?: string[]
      claims?: {
        [key: string]: components['schemas']['ClaimValue']
      }
      bodyHash?: components['schemas']['BodyHashClaim']
      maxAgeSeconds?: number
      clockSkewSeconds: number
    }
    JwtKeySource:
      | components['schemas']['SecretKeySource']
      | components['schemas']['JwksKeySource']
      | components['schemas']['InlineKeySource']
      | components['schemas']['PlaidKeySource']
    SecretKeySource: {
      kind: 'secret'
    }
    JwksKeySource: {
      kind: 'jwks'
      url: string
    }
    InlineKeySource: {
      kind: 'inline'
      keys: components['schemas']['PublicJwk'][]
    }
    PublicJwk: {
      kty: 'RSA' | 'EC' | 'OKP'
      kid?: string
    } & {
      [key: string]: unknown
    }
    PlaidKeySource: {
      kind: 'plaid'
      environment: 'production' | 'sandbox' | 'development'
      clientId: string
    }
    ClaimValue: string | number | boolean
    BodyHashClaim: {
      claim: string
      encoding: 'hex' | 'base64'
    }
    IpAllowListVerifier: {
      preset?: string
      type: 'ip_allow_list'
      cidrs: string[]
    }
    TwilioVerifier: {
      preset?: string
      type: 'twilio'
      secret?: string
      url?: string
    }
    AdyenVerifier: {
      preset?: string
      type: 'adyen'
      secret?: string
    }
    AwsSnsVerifier: {
      preset?: string
      type: 'aws_sns'
      topicArns: string[]
    }
    AllOfVerifier: {
      preset?: string
      type: 'all_of'
      verifiers: components['schemas']['MemberVerifier'][]
    }
    MemberVerifier:
      | components['schemas']['BasicAuthVerifier']
      | components['schemas']['SharedTokenVerifier']
      | components['schemas']['StandardWebhooksVerifier']
      | components['schemas']['HmacVerifier']
      | components['schemas']['PublicKeyVerifier']
      | components['schemas']['JwtVerifier']
      | components['schemas']['IpAllowListVerifier']
      | components['schemas']['TwilioVerifier']
      | components['schemas']['AdyenVerifier']
      | components['schemas']['AwsSnsVerifier']
    EmailVerifier: {
      preset?: string
      type: 'email'
      require: 'none' | 'dkim' | 'dmarc'
      allowedDomains?: string[]
    }
    VerifierConfig:
      | components['schemas']['NoVerifier']
      | components['schemas']['BasicAuthVerifier']
      | components['schemas']['SharedTokenVerifier']
      | components['schemas']['StandardWebhooksVerifier']
      | components['schemas']['HmacVerifier']
      | components['schemas']['PublicKeyVerifier']
      | components['schemas']['JwtVerifier']
      | components['schemas']['IpAllowListVerifier']
      | components['schemas']['TwilioVerifier']
      | components['schemas']['AdyenVerifier']
      | components['schemas']['AwsSnsVerifier']
      | components['schemas']['AllOfVerifier']
      | components['schemas']['EmailVerifier']
    SourceSecretOverlap: {
      previousExpiresAt: string
      current: components['schemas']['SecretUsage']
      previous: components['schemas']['SecretUsage']
    }
    SecretUsage: {
      count: number
      lastSeenAt: string | null
    }
    IngestResponse:
      | components['schemas']['DefaultIngestResponse']
      | components['schemas']['EmptyIngestResponse']
      | components['schemas']['StaticIngestResponse']
    DefaultIngestResponse: {
      kind: 'default'
    }
    EmptyIngestResponse: {
      kind: 'empty'
      status?: 200 | 204
    }
    StaticIngestResponse: {
      kind: 'static'
      body?: string
      contentType?: string
    }
    Handshake: {
      kind: string
    }
    RotatedSourceSecret: {
      secret: string
      previousExpiresAt: string
    }
    VerifierPresetList: {
      data: components['schemas']['VerifierPreset'][]
    }
    VerifierPreset: {
      preset: string
      type: string
      needs: string[]
      config: {
        [key: string]: unknown
      }
      handshake: string | null
      ingestResponse: {
        [key: string]: unknown
      }
      allowedMethods: string[]
      eventTypeField: string | null
      idempotencyKeys: string[]
      forcesIdempotencyKeys: boolean
      bodyAuthenticated: boolean
    }
    SignatureDiagnosis: {
      valid: boolean
      reason: components['schemas']['RejectionReason'] | null
      detail: string | null
      verifiedWith: string
      secret: ('current' | 'previous') | null
    }
    RejectionReason:
      | 'signature_mismatch'
      | 'missing_signature_header'
      | 'missing_id_header'
      | 'missing_timestamp_header'
      | 'malformed_signature_header'
      | 'malformed_timestamp'
      | 'timestamp_out_of_tolerance'
      | 'verifier_misconfigured'
      | 'unsupported_verifier'
    DestinationList: {
      data: components['schemas']['Destination'][]
      nextCursor: string | null
    }
    Destination: {
      id: string
      projectId: string
      name: string
      mode: 'public' | 'private'
      url: string
      connectorId: string | null
      isEnabled: boolean
      disabledReason: string | null
      method: 'POST' | 'PUT' | 'PATCH'
      headers: {
        [key: string]: string
      }
      auth: components['schemas']['DestinationAuth']
      timeoutMs: number
      rateLimit: number | null
      rateLimitPeriod: 'second' | 'minute' | 'hour' | 'day'
      maxConcurrency: number | null
      retryPolicy: components['schemas']['RetryPolicy']
      signingSecretRotation: components['schemas']['SigningSecretOverlap'] | null
      health: 'healthy' | 'failing' | 'disabled'
      metadata: components['schemas']['Metadata']
      createdAt: string
      updatedAt: string
    }
    DestinationAuth:
      | components['schemas']['NoAuth']
      | components['schemas']['BasicAuth']
      | components['schemas']['BearerAuth']
      | components['schemas']['OAuth2ClientCredentialsAuth']
    NoAuth: {
      type: 'none'
    }
    BasicAuth: {
      type: 'basic'
      username: string
    }
    BearerAuth: {
      type: 'bearer'
    }
    OAuth2ClientCredentialsAuth: {
      type: 'oauth2ClientCredentials'
      tokenUrl: string
      clientId: string
      scope?: string
    }
    RetryPolicy: {
      strategy: 'schedule' | 'exponential' | 'linear'
      scheduleSeconds?: number[]
      initialDelaySeconds?: number
      maxDelaySeconds?: number
      maxAttempts: number
      retryOn?: string[]
    }
    SigningSecretOverlap: {
      previousExpiresAt: string
    }
    SigningSecret: {
      secret: string
      previous: components['schemas']['PreviousSigningSecret'] | null
    }
    PreviousSigningSecret: {
      secret: string
      expiresAt: string
    }
    RotatedSigningSecret: {
      secret: string
      previousExpiresAt: string
    }
    TestDelivery: {
      deliveryId: string
      attempt: components['schemas']['Attempt']
    }
    Attempt: {
      id: string
      deliveryId: string
      number: number
      trigger: 'initial' | 'automatic' | 'manual' | 'bulk'
      startedAt: string
      durationMs: number
      phases: components['schemas']['AttemptPhases']
      requestUrl: string
      requestHeaders: components['schemas']['Pairs']
      responseStatus: number | null
      responseHeaders: components['schemas']['Pairs']
      responseBody: string | null
      errorCode: components['schemas']['AttemptErrorCode'] | null
      replicaId: string | null
      outcome: 'succeeded' | 'failed' | 'busy'
    }
    AttemptPhases: {
      dnsMs: number | null
      connectMs: number | null
      tlsMs: number | null
      firstByteMs: number | null
      totalMs: number
    }
    Pair: string[]
    Pairs: components['schemas']['Pair'][]
    AttemptErrorCode:
      | 'bad_response'
      | 'timeout'
      | 'dns_error'
      | 'connection_refused'
      | 'connection_reset'
      | 'tls_error'
      | 'host_unreachable'
      | 'address_blocked'
      | 'response_too_large'
      | 'connector_offline'
      | 'connector_timeout'
      | 'connector_lost'
      | 'host_not_allowed'
      | 'expired'
      | 'internal'
    ConnectionList: {
      data: components['schemas']['Connection'][]
      nextCursor: string | null
    }
    Connection: {
      id: string
      projectId: string
      name: string
      sourceId: string
      destinationId: string
      isEnabled: boolean
      filter: components['schemas']['Filter'] | null
      metadata: components['schemas']['Metadata']
      createdAt: string
      updatedAt: string
    }
    Filter: {
      eventTypes?: string[]
      headers?: Record<string, never>
      query?: Record<string, never>
      body?: unknown
    }
    ConnectorList: {
      data: components['schemas']['Connector'][]
      nextCursor: string | null
    }
    Connector: {
      id: string
      projectId: string
      name: string
      isDisabled: boolean
      provisionedAt: string | null
      allowedHosts: string[]
      onlineReplicas: number
      lastSeenAt: string | null
      metadata: components['schemas']['Metadata']
      createdAt: string
      updatedAt: string
    }
    CreatedConnector: {
      id: string
      projectId: string
      name: string
      isDisabled: boolean
      provisionedAt: string | null
      allowedHosts: string[]
      onlineReplicas: number
      lastSeenAt: string | null
      metadata: components['schemas']['Metadata']
      createdAt: string
      updatedAt: string
      enrollmentKey: string
    }
    Enrollment: {
      enrollmentKey: string
    }
    ReplicaList: {
      data: components['schemas']['Replica'][]
      nextCursor: string | null
    }
    Replica: {
      id: string
      connectorId: string
      name: string
      version: string
      remoteIp: string
      status: 'online' | 'offline' | 'revoked'
      startedAt: string
      lastHeartbeatAt: string
      inFlight: number
      createdAt: string
    }
    Bootstrapped: {
      connectorId: string
      replicaId: string
      heartbeatToken: string
      heartbeatIntervalSeconds: number
      gatewayUrl: string
      allowedHosts: string[]
    }
    HeartbeatAnswer: {
      heartbeatIntervalSeconds: number
      gatewayUrl: string
      allowedHosts: string[]
      isDisabled: boolean
    }
    FilterMatch: {
      matched: boolean
      failedPart: ('eventTypes' | 'headers' | 'query' | 'body') | null
      path: string | null
    }
    EventList: {
      data: components['schemas']['EventSummary'][]
      nextCursor: string | null
      truncated?: boolean
      searchedThrough?: string
    }
    EventSummary: {
      id: string
      sourceId: string
      projectId: string
      status: components['schemas']['EventStatus']
      eventType: string | null
      idempotencyKey?: string
      rejectionReason?: components['schemas']['RejectionReason']
      verifiedWith: string
      method: string
      path: string
      contentType: string | null
      sizeBytes: number
      isBinary: boolean
      remoteIp: string
      createdAt: string
    }
    EventStatus: 'received' | 'filtered' | 'unmatched' | 'rejected' | 'duplicate' | 'pending'
    EventPresence: {
      hasAny: boolean
    }
    Event: {
      id: string
      sourceId: string
      projectId: string
      status: components['schemas']['EventStatus']
      eventType: string | null
      idempotencyKey?: string
      rejectionReason?: components['schemas']['RejectionReason']
      verifiedWith: string
      method: string
      path: string
      contentType: string | null
      sizeBytes: number
      isBinary: boolean
      remoteIp: string
      createdAt: string
      headers: components['schemas']['Pairs']
      query: components['schemas']['Pairs']
      payload: unknown
      raw: string
      rawBase64: string
      deliveries: components['schemas']['Delivery'][]
    }
    Delivery: {
      id: string
      eventId: string | null
      connectionId: string | null
      destinationId: string
      sourceId: string | null
      projectId: string
      status: components['schemas']['DeliveryStatus']
      trigger: 'ingest' | 'replay' | 'test'
      attemptCount: number
      maxAttempts: number
      nextAttemptAt: string | null
      throttledReason: ('rate_limit' | 'destination_busy') | null
      throttledAt: string | null
      lastError: string | null
      lastAttempt: components['schemas']['LastAttempt'] | null
      completedAt: string | null
      createdAt: string
    }
    DeliveryStatus: 'pending' | 'throttled' | 'in_flight' | 'succeeded' | 'failed' | 'cancelled'
    LastAttempt: {
      at: string
      responseStatus: number | null
      errorCode: components['schemas']['AttemptErrorCode'] | null
      durationMs: number | null
    }
    Timeline: {
      verdict: components['schemas']['Verdict']
      phases: components['schemas']['TimelinePhase'][]
      connections: components['schemas']['TimelineConnection'][]
      deliveries: components['schemas']['DeliveryWithAttempts'][]
    }
    Verdict: {
      cause:
        | 'rejected'
        | 'unmatched'
        | 'filtered'
        | 'connection_disabled'
        | 'retrying'
        | 'connector_offline'
        | 'rate_limited'
        | 'destination_busy'
        | 'destination_saturated'
        | 'failed'
        | 'address_refused'
        | 'destination_disabled'
        | 'cancelled'
        | 'delivered'
      sentence: string
      since: string
      nextAt: string | null
      action:
        | (
            | 'test_signature'
            | 'create_connection'
            | 'test_filter'
            | 'enable_connection'
            | 'retry'
            | 'show_connector'
            | 'raise_rate_limit'
            | 'change_address'
            | 'enable_destination'
            | 'replay'
          )
        | null
    }
    TimelinePhase: {
      name: 'received' | 'verified' | 'stored' | 'matched' | 'dispatched'
      at: string
      durationMs: number | null
    }
    TimelineConnection: {
      connectionId: string
      outcome: 'delivered_to' | 'filtered' | 'disabled'
      failedPart?: string
    }
    DeliveryWithAttempts: {
      id: string
      eventId: string | null
      connectionId: string | null
      destinationId: string
      sourceId: string | null
      projectId: string
      status: components['schemas']['DeliveryStatus']
      trigger: 'ingest' | 'replay' | 'test'
      attemptCount: number
      maxAttempts: number
      nextAttemptAt: string | null
      throttledReason: ('rate_limit' | 'destination_busy') | null
      throttledAt: string | null
      lastError: string | null
      lastAttempt: components['schemas']['LastAttempt'] | null
      completedAt: string | null
      createdAt: string
      attempts: components['schemas']['Attempt'][]
    }
    Replay: {
      deliveries: components['schemas']['Delivery'][]
    }
    EventStream: string
    DeliveryList: {
      data: components['schemas']['Delivery'][]
      nextCursor: string | null
    }
    BillingPlan: {
      plan: components['schemas']['PlanName']
      entitlements: components['schemas']['Entitlements']
      subscription: components['schemas']['Subscription'] | null
    }
    PlanName: 'hobby' | 'launch' | 'scale' | 'enterprise'
    Entitlements: {
      retentionDays: number
      maxDeliveriesPerSecond: number | null
      burstDeliveriesPerSecond: number | null
      deliveryQuota: number | null
      isHardCapped: boolean
      connectors: number | null
      replicasPerConnector: number | null
      seats: number | null
    }
    Subscription: {
      status: 'active' | 'cancelled'
      currentPeriodStart: string
      currentPeriodEnd: string
      cancelAtPeriodEnd: boolean
      scheduledChange: components['schemas']['ScheduledPlanChange'] | null
    }
    ScheduledPlanChange: {
      plan: components['schemas']['PlanName']
      at: string
    }
    Usage: {
      deliveries: number
      limit: number | null
      overage: number
      windowStart: string
      resetAt: string
    }
    Dashboard: {
      data: components['schemas']['DashboardBucket'][]
    }
    DashboardBucket: {
      start: string
      group?: string
      events: components['schemas']['DashboardEvents']
      deliveries: components['schemas']['DashboardDeliveries']
      attempts: number
      retried: number
      latencyMs: components['schemas']['DashboardLatencies']
    }
    DashboardEvents: {
      received: number
      filtered: number
      unmatched: number
      rejected: number
    }
    DashboardDeliveries: {
      succeeded: number
      failed: number
      throttled: number
    }
    DashboardLatencies: {
      p50: number | null
      p95: number | null
      p99: number | null
    }
    BacklogHistory: {
      data: components['schemas']['BacklogBucket'][]
    }
    BacklogBucket: {
      start: string
      waiting: number
      oldestPendingAgeSeconds: number
    }
    WaitingDeliveries: {
      pending: number
      throttled: number
      oldestPendingAgeSeconds: number | null
    }
    Operation: {
      id: string
      projectId: string
      kind: components['schemas']['OperationKind']
      status: components['schemas']['OperationStatus']
      filter: components['schemas']['OperationFilter']
      matched: number
      truncated: boolean
      processed: number
      failed: number
      failures: {
        [key: string]: number
      }
      createdAt: string
      finishedAt: string | null
    }
    OperationKind: 'retry' | 'replay' | 'cancel'
    OperationStatus: 'running' | 'completed' | 'cancelled'
    OperationFilter: {
      status?: string
      eventId?: string
      connectionId?: string
      destinationId?: string
      sourceId?: string
      errorCode?: string
      responseStatus?: components['schemas']['ResponseStatus']
      eventType?: string
      search?: string
      from?: string
      to?: string
    }
    ResponseStatus: number | string
    OperationPlan: {
      kind: components['schemas']['OperationKind']
      matched: number
      truncated: boolean
      oldestAt: string | null
      newestAt: string | null
      refused: {
        [key: string]: number
      }
      deliveries: number
      isUpperBound: boolean
      quotaDeliveries: number
      destinations: components['schemas']['PlannedDestination'][]
      destinationCount: number
      seconds: number | null
    }
    PlannedDestination: {
      destinationId: string
      deliveries: number
      isEnabled: boolean
      seconds: number | null
    }
    OperationList: {
      data: components['schemas']['Operation'][]
      nextCursor: string | null
    }
    OpenApiDocument: {
      [key: string]: unknown
    }
    BadRequestError: {
      code: 'BAD_REQUEST'
      status: 400
      message: string
      data: components['schemas']['BadRequestData']
    }
    BadRequestData: {
      fields: components['schemas']['FieldFault'][]
    }
    FieldFault: {
      path: string
      message: string
    }
    UnauthorizedError: {
      code: 'UNAUTHORIZED'
      status: 401
      message: string
    }
    InsufficientApiKeyPermissionsError: {
      code: 'INSUFFICIENT_API_KEY_PERMISSIONS'
      status: 403
      message: string
    }
    NotFoundError: {
      code: 'NOT_FOUND'
      status: 404
      message: string
    }
    TooManyRequestsError: {
      status: 429
      message: string
    }
    InternalError: {
      status: 500
      message: string
      data: components['schemas']['FailureData']
    }
    FailureData: {
      requestId: string
    }
    UnavailableError: {
      status: 503
      message: string
      data: components['schemas']['FailureData']
    }
    ProjectCreate: {
      name: string
      metadata?: components['schemas']['Metadata'] | null
    }
    ConflictError: {
      code: 'CONFLICT'
      status: 409
      message: string
    }
    ProjectUpdate: {
      data: components['schemas']['ProjectChanges']
    }
    ProjectChanges: {
      name?: string
      metadata?: components['schemas']['Metadata'] | null
    }
    ForbiddenOrInsufficientApiKeyPermissionsError:
      | components['schemas']['ForbiddenError']
      | components['schemas']['InsufficientApiKeyPermissionsError']
    ForbiddenError: {
      code: 'FORBIDDEN'
      status: 403
      message: string
    }
    PresetVerifier: {
      preset: string
      secret?: string
    } & {
      [key: string]: unknown
    }
    SourceCreate: {
      name: string
      isEnabled?: boolean | null
      verifier?: components['schemas']['VerifierInput'] | null
      eventTypeField?: string | null
      idempotencyKeys?: string[] | null
      allowedMethods?: ('POST' | 'PUT' | 'PATCH' | 'DELETE' | 'GET')[] | null
      maxPayloadSizeKb?: number | null
      ingestResponse?: components['schemas']['IngestResponse'] | null
      handshake?: components['schemas']['HandshakeInput'] | null
      metadata?: components['schemas']['Metadata'] | null
      kind?: 'http' | 'email'
    }
    VerifierInput:
      | components['schemas']['PresetVerifier']
      | components['schemas']['VerifierConfigInput']
    VerifierConfigInput:
      | components['schemas']['NoVerifier']
      | components['schemas']['BasicAuthVerifier']
      | components['schemas']['SharedTokenVerifier']
      | components['schemas']['StandardWebhooksVerifierInput']
      | components['schemas']['HmacVerifierInput']
      | components['schemas']['PublicKeyVerifierInput']
      | components['schemas']['JwtVerifierInput']
      | components['schemas']['IpAllowListVerifier']
      | components['schemas']['TwilioVerifier']
      | components['schemas']['AdyenVerifier']
      | components['schemas']['AwsSnsVerifier']
      | components['schemas']['AllOfVerifierInput']
      | components['schemas']['EmailVerifierInput']
    StandardWebhooksVerifierInput: {
      preset?: string
      type: 'standard_webhooks'
      secret?: string
      publicKeys?: string[]
      headerPrefixes?: string[]
      secretEncoding?: 'base64' | 'utf8' | 'prefixed'
      toleranceSeconds?: number
    }
    HmacVerifierInput: {
      preset?: string
      signature: components['schemas']['SignatureLocationInput']
      content?: components['schemas']['SignedContent']
      timestamp?: components['schemas']['TimestampLocationInput']
      id?: components['schemas']['RequestLocation']
      signedHeaders?: components['schemas']['SignedHeadersInput']
      params?: {
        [key: string]: string
      }
      requiredHeaders?: {
        [key: string]: string
      }
      url?: string
      type: 'hmac'
      algorithm?: 'sha1' | 'sha256' | 'sha512'
      construction?: 'hmac' | 'hash'
      secret?: string
      secretEncoding?: 'utf8' | 'base64' | 'hex' | 'sha1'
    }
    SignatureLocationInput: {
      in?: 'header' | 'json' | 'form' | 'query'
      names: string[]
      format?: 'list' | 'pairs' | 'positional'
      encoding: 'hex' | 'base64' | 'base64url'
      prefix?: string
      itemSeparator?: string
      keySeparator?: string
      signatureKey?: string
      timestampKey?: string
    }
    TimestampLocationInput: {
      in: 'header' | 'signature' | 'json' | 'form'
      name?: string
      format: 'unix' | 'unix_ms' | 'iso8601'
      toleranceSeconds?: number
    }
    SignedHeadersInput: {
      in: 'header' | 'signature'
      name: string
      separator: string
      sort?: boolean
      render: 'pairs' | 'values'
      joiner: string
    }
    PublicKeyVerifierInput: {
      preset?: string
      signature: components['schemas']['SignatureLocationInput']
      content?: components['schemas']['SignedContent']
      timestamp?: components['schemas']['TimestampLocationInput']
      id?: components['schemas']['RequestLocation']
      signedHeaders?: components['schemas']['SignedHeadersInput']
      params?: {
        [key: string]: string
      }
      requiredHeaders?: {
        [key: string]: string
      }
      url?: string
      type: 'public_key'
      algorithm: 'ed25519' | 'ecdsa_p256_sha256' | 'rsa_sha256' | 'rsa_sha1'
      publicKeys?: string[]
      keySource?: components['schemas']['CertificateSource']
    }
    JwtVerifierInput: {
      preset?: string
      type: 'jwt'
      token: components['schemas']['TokenLocation']
      algorithms: (
        | 'HS256'
        | 'HS384'
        | 'HS512'
        | 'RS256'
        | 'RS384'
        | 'RS512'
        | 'PS256'
        | 'ES256'
        | 'ES384'
        | 'EdDSA'
      )[]
      secret?: string
      keySource?: components['schemas']['JwtKeySource']
      issuer?: string[]
      audience?: string[]
      claims?: {
        [key: string]: components['schemas']['ClaimValue']
      }
      bodyHash?: components['schemas']['BodyHashClaimInput']
      maxAgeSeconds?: number
      clockSkewSeconds?: number
    }
    BodyHashClaimInput: {
      claim: string
      encoding?: 'hex' | 'base64'
    }
    AllOfVerifierInput: {
      preset?: string
      type: 'all_of'
      verifiers: components['schemas']['MemberVerifierInput'][]
    }
    MemberVerifierInput:
      | components['schemas']['PresetVerifier']
      | components['schemas']['BasicAuthVerifier']
      | components['schemas']['SharedTokenVerifier']
      | components['schemas']['StandardWebhooksVerifierInput']
      | components['schemas']['HmacVerifierInput']
      | components['schemas']['PublicKeyVerifierInput']
      | components['schemas']['JwtVerifierInput']
      | components['schemas']['IpAllowListVerifier']
      | components['schemas']['TwilioVerifier']
      | components['schemas']['AdyenVerifier']
      | components['schemas']['AwsSnsVerifier']
    EmailVerifierInput: {
      preset?: string
      type: 'email'
      require?: 'none' | 'dkim' | 'dmarc'
      allowedDomains?: string[]
    }
    HandshakeInput: {
      verifyToken: string
    }
    SourceUpdate: {
      data: components['schemas']['SourceChanges']
    }
    SourceChanges: {
      name?: string
      isEnabled?: boolean | null
      verifier?: components['schemas']['VerifierInput'] | null
      eventTypeField?: string | null
      idempotencyKeys?: string[] | null
      allowedMethods?: ('POST' | 'PUT' | 'PATCH' | 'DELETE' | 'GET')[] | null
      maxPayloadSizeKb?: number | null
      ingestResponse?: components['schemas']['IngestResponse'] | null
      handshake?: components['schemas']['HandshakeInput'] | null
      metadata?: components['schemas']['Metadata'] | null
    }
    Toggle: {
      isEnabled: boolean
    }
    NoMembers: Record<string, never>
    SourceSecretRotation: {
      secret?: string
      overlapSeconds?: number
    }
    ConflictOrRotationOverlapActiveError:
      | components['schemas']['ConflictError']
      | components['schemas']['RotationOverlapActiveError']
    RotationOverlapActiveError: {
      code: 'ROTATION_OVERLAP_ACTIVE'
      status: 409
      message: string
      data: components['schemas']['RotationOverlapActiveData']
    }
    RotationOverlapActiveData: {
      expiresAt: string
    }
    SourceRotationCancellation: {
      force?: boolean
    }
    ConflictOrRotationInUseError:
      | components['schemas']['ConflictError']
      | components['schemas']['RotationInUseError']
    RotationInUseError: {
      code: 'ROTATION_IN_USE'
      status: 409
      message: string
      data: components['schemas']['RotationInUseData']
    }
    RotationInUseData: {
      count: number
      lastSeenAt: string
    }
    RotationUsageUnavailableOrUnavailableError: {
      code?: 'ROTATION_USAGE_UNAVAILABLE'
      status: 503
      message: string
      data?: components['schemas']['FailureData']
    }
    SignatureTest: {
      headers: {
        [key: string]: components['schemas']['HeaderValue']
      }
      body?: string
      bodyBase64?: string
      method?: string
      url?: string
      now?: string
    }
    HeaderValue: string | string[]
    RateLimitedOrTooManyRequestsError: {
      code?: 'RATE_LIMITED'
      status: 429
      message: string
      data?: components['schemas']['RateLimitedData']
    }
    RateLimitedData: {
      limit: number
      remaining: number
      retryAfterSeconds: number
    }
    DestinationCreate: {
      name: string
      mode?: ('public' | 'private') | null
      url: string
      connectorId?: string | null
      isEnabled?: boolean | null
      method?: ('POST' | 'PUT' | 'PATCH') | null
      headers?: {
        [key: string]: string
      } | null
      auth?: components['schemas']['DestinationAuthInput'] | null
      timeoutMs?: number | null
      rateLimit?: number | null
      rateLimitPeriod?: ('second' | 'minute' | 'hour' | 'day') | null
      maxConcurrency?: number | null
      retryPolicy?: components['schemas']['RetryPolicyInput'] | null
      metadata?: components['schemas']['Metadata'] | null
    }
    DestinationAuthInput:
      | components['schemas']['NoAuthInput']
      | components['schemas']['BasicAuthInput']
      | components['schemas']['BearerAuthInput']
      | components['schemas']['OAuth2ClientCredentialsAuthInput']
    NoAuthInput: {
      type: 'none'
    }
    BasicAuthInput: {
      type: 'basic'
      username: string
      password?: string
    }
    BearerAuthInput: {
      type: 'bearer'
      token?: string
    }
    OAuth2ClientCredentialsAuthInput: {
      type: 'oauth2ClientCredentials'
      tokenUrl: string
      clientId: string
      clientSecret?: string
      scope?: string
    }
    RetryPolicyInput: {
      strategy?: 'schedule' | 'exponential' | 'linear'
      scheduleSeconds?: number[]
      initialDelaySeconds?: number
      maxDelaySeconds?: number
      maxAttempts?: number
      retryOn?: string[]
    }
    DestinationUpdate: {
      data: components['schemas']['DestinationChanges']
    }
    DestinationChanges: {
      name?: string
      mode?: ('public' | 'private') | null
      url?: string
      connectorId?: string | null
      isEnabled?: boolean | null
      method?: ('POST' | 'PUT' | 'PATCH') | null
      headers?: {
        [key: string]: string
      } | null
      auth?: components['schemas']['DestinationAuthInput'] | null
      timeoutMs?: number | null
      rateLimit?: number | null
      rateLimitPeriod?: ('second' | 'minute' | 'hour' | 'day') | null
      maxConcurrency?: number | null
      retryPolicy?: components['schemas']['RetryPolicyInput'] | null
      metadata?: components['schemas']['Metadata'] | null
    }
    SigningSecretRotation: {
      force?: boolean
      overlapSeconds?: number
    }
    TestDeliveryCreate: {
      body?: unknown
      headers?: {
        [key: string]: string
      }
    }
    BadRequestOrDestinationNotPublicError:
      | components['schemas']['BadRequestError']
      | components['schemas']['DestinationNotPublicError']
    DestinationNotPublicError: {
      code: 'DESTINATION_NOT_PUBLIC'
      status: 400
      message: string
    }
    ConnectionCreate: {
      name: string
      sourceId: string
      destinationId: string
      isEnabled?: boolean | null
      filter?: components['schemas']['Filter'] | null
      metadata?: components['schemas']['Metadata'] | null
    }
    ConnectionUpdate: {
      data: components['schemas']['ConnectionChanges']
    }
    ConnectionChanges: {
      name?: string
      sourceId?: string
      destinationId?: string
      isEnabled?: boolean | null
      filter?: components['schemas']['Filter'] | null
      metadata?: components['schemas']['Metadata'] | null
    }
    ConnectorCreate: {
      name: string
      allowedHosts?: string[] | null
      metadata?: components['schemas']['Metadata'] | null
    }
    ForbiddenOrInsufficientApiKeyPermissionsOrConnectorLimitReachedError:
      | components['schemas']['ForbiddenError']
      | components['schemas']['InsufficientApiKeyPermissionsError']
      | components['schemas']['ConnectorLimitReachedError']
    ConnectorLimitReachedError: {
      code: 'CONNECTOR_LIMIT_REACHED'
      status: 403
      message: string
      data: components['schemas']['ConnectorLimitReachedData']
    }
    ConnectorLimitReachedData: {
      limit: number
      current: number
    }
    ConnectorUpdate: {
      data: components['schemas']['ConnectorChanges']
    }
    ConnectorChanges: {
      name?: string
      allowedHosts?: string[] | null
      metadata?: components['schemas']['Metadata'] | null
    }
    ConnectorToggle: {
      isDisabled: boolean
    }
    ConnectorProvisioningOrConflictError:
      | components['schemas']['ConnectorProvisioningError']
      | components['schemas']['ConflictError']
    ConnectorProvisioningError: {
      code: 'CONNECTOR_PROVISIONING'
      status: 409
      message: string
    }
    ConnectorUpsert: {
      name?: string
      allowedHosts?: string[] | null
      metadata?: components['schemas']['Metadata'] | null
    }
    Bootstrap: {
      instanceName: string
      version: string
      startedAt: string
      capabilities?: string[]
    }
    ReplicaLimitReachedError: {
      code: 'REPLICA_LIMIT_REACHED'
      status: 403
      message: string
      data: components['schemas']['ReplicaLimitReachedData']
    }
    ReplicaLimitReachedData: {
      limit: number
      current: number
    }
    Heartbeat: {
      inFlight: number
      sessions: number
      uptimeSeconds: number
    }
    ConnectorReplicaRevokedError: {
      code: 'CONNECTOR_REPLICA_REVOKED'
      status: 403
      message: string
      data: components['schemas']['ConnectorReplicaRevokedData']
    }
    ConnectorReplicaRevokedData: {
      reason: 'connector_deleted' | 'replica_revoked' | 'identity_absent'
    }
    ProjectUpsert: {
      name?: string
      metadata?: components['schemas']['Metadata'] | null
    }
    SourceUpsert: {
      name?: string
      isEnabled?: boolean | null
      verifier?: components['schemas']['VerifierInput'] | null
      eventTypeField?: string | null
      idempotencyKeys?: string[] | null
      allowedMethods?: ('POST' | 'PUT' | 'PATCH' | 'DELETE' | 'GET')[] | null
      maxPayloadSizeKb?: number | null
      ingestResponse?: components['schemas']['IngestResponse'] | null
      handshake?: components['schemas']['HandshakeInput'] | null
      metadata?: components['schemas']['Metadata'] | null
      kind?: 'http' | 'email'
    }
    DestinationUpsert: {
      name?: string
      mode?: ('public' | 'private') | null
      url: string
      connectorId?: string | null
      isEnabled?: boolean | null
      method?: ('POST' | 'PUT' | 'PATCH') | null
      headers?: {
        [key: string]: string
      } | null
      auth?: components['schemas']['DestinationAuthInput'] | null
      timeoutMs?: number | null
      rateLimit?: number | null
      rateLimitPeriod?: ('second' | 'minute' | 'hour' | 'day') | null
      maxConcurrency?: number | null
      retryPolicy?: components['schemas']['RetryPolicyInput'] | null
      metadata?: components['schemas']['Metadata'] | null
    }
    ConnectionUpsert: {
      name?: string
      sourceId: string
      destinationId: string
      isEnabled?: boolean | null
      filter?: components['schemas']['Filter'] | null
      metadata?: components['schemas']['Metadata'] | null
    }
    FilterTest: {
      filter: components['schemas']['Filter']
      eventId?: string
      sample?: components['schemas']['FilterSample']
    }
    FilterSample: {
      eventType?: string | null
      headers?: {
        [key: string]: string
      }
      query?: {
        [key: string]: string
      }
      body?: unknown
    }
    QuotaExceededOrTooManyRequestsError: {
      code?: 'QUOTA_EXCEEDED'
      status: 429
      message: string
      data?: components['schemas']['QuotaExceededData']
    }
    QuotaExceededData: {
      limit: number
      current: number
      resetAt: string
    }
    InsufficientApiKeyPermissionsOrForbiddenError:
      | components['schemas']['InsufficientApiKeyPermissionsError']
      | components['schemas']['ForbiddenError']
    PlanChange: {
      plan: components['schemas']['PlanName']
      when?: 'now' | 'period_end'
    }
    OperationCreate:
      | components['schemas']['RetryOperationCreate']
      | components['schemas']['ReplayOperationCreate']
      | components['schemas']['CancelOperationCreate']
    RetryOperationCreate: {
      kind: 'retry'
      filter: components['schemas']['OperationDeliveryFilter']
    }
    OperationDeliveryFilter: {
      status?: components['schemas']['DeliveryStatus']
      eventId?: string
      connectionId?: string
      destinationId?: string
      sourceId?: string
      errorCode?: components['schemas']['AttemptErrorCode']
      responseStatus?: components['schemas']['ResponseStatus']
      from?: string
      to?: string
    }
    ReplayOperationCreate: {
      kind: 'replay'
      filter: components['schemas']['OperationEventFilter']
    }
    OperationEventFilter: {
      sourceId?: string
      status?: components['schemas']['EventStatus']
      eventType?: string
      search?: string
      from?: string
      to?: string
    }
    CancelOperationCreate: {
      kind: 'cancel'
      filter: components['schemas']['OperationDeliveryFilter']
    }
  }
  responses: {
    BadRequest: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id']
        'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
        'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
        'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
        [name: string]: unknown
      }
      content: {
        'application/json': components['schemas']['BadRequestError']
      }
    }
    Unauthorized: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id']
        'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
        'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
        'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
        [name: string]: unknown
      }
      content: {
        'application/json': components['schemas']['UnauthorizedError']
      }
    }
    InsufficientApiKeyPermissions: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id']
        'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
        'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
        'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
        [name: string]: unknown
      }
      content: {
        'application/json': components['schemas']['InsufficientApiKeyPermissionsError']
      }
    }
    NotFound: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id']
        'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
        'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
        'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
        [name: string]: unknown
      }
      content: {
        'application/json': components['schemas']['NotFoundError']
      }
    }
    TooManyRequests: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id']
        'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
        'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
        'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
        'Retry-After': components['headers']['Retry-After']
        [name: string]: unknown
      }
      content: {
        'application/json': components['schemas']['TooManyRequestsError']
      }
    }
    Internal: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id']
        'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
        'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
        'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
        [name: string]: unknown
      }
      content: {
        'application/json': components['schemas']['InternalError']
      }
    }
    Unavailable: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id']
        'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
        'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
        'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
        'Retry-After': components['headers']['Retry-After']
        [name: string]: unknown
      }
      content: {
        'application/json': components['schemas']['UnavailableError']
      }
    }
    Conflict: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id']
        'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
        'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
        'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
        [name: string]: unknown
      }
      content: {
        'application/json': components['schemas']['ConflictError']
      }
    }
    ForbiddenOrInsufficientApiKeyPermissions: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id']
        'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
        'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
        'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
        [name: string]: unknown
      }
      content: {
        'application/json': components['schemas']['ForbiddenOrInsufficientApiKeyPermissionsError']
      }
    }
    ConflictOrRotationOverlapActive: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id']
        'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
        'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
        'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
        [name: string]: unknown
      }
      content: {
        'application/json': components['schemas']['ConflictOrRotationOverlapActiveError']
      }
    }
    ConflictOrRotationInUse: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id']
        'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
        'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
        'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
        [name: string]: unknown
      }
      content: {
        'application/json': components['schemas']['ConflictOrRotationInUseError']
      }
    }
    RotationUsageUnavailableOrUnavailable: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id']
        'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
        'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
        'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
        'Retry-After': components['headers']['Retry-After']
        [name: string]: unknown
      }
      content: {
        'application/json': components['schemas']['RotationUsageUnavailableOrUnavailableError']
      }
    }
    RateLimitedOrTooManyRequests: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id']
        'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
        'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
        'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
        'Retry-After': components['headers']['Retry-After']
        [name: string]: unknown
      }
      content: {
        'application/json': components['schemas']['RateLimitedOrTooManyRequestsError']
      }
    }
    BadRequestOrDestinationNotPublic: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id']
        'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
        'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
        'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
        [name: string]: unknown
      }
      content: {
        'application/json': components['schemas']['BadRequestOrDestinationNotPublicError']
      }
    }
    ForbiddenOrInsufficientApiKeyPermissionsOrConnectorLimitReached: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id']
        'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
        'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
        'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
        [name: string]: unknown
      }
      content: {
        'application/json': components['schemas']['ForbiddenOrInsufficientApiKeyPermissionsOrConnectorLimitReachedError']
      }
    }
    ConnectorProvisioningOrConflict: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id']
        'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
        'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
        'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
        [name: string]: unknown
      }
      content: {
        'application/json': components['schemas']['ConnectorProvisioningOrConflictError']
      }
    }
    PublicBadRequest: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id']
        [name: string]: unknown
      }
      content: {
        'application/json': components['schemas']['BadRequestError']
      }
    }
    PublicUnauthorized: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id']
        [name: string]: unknown
      }
      content: {
        'application/json': components['schemas']['UnauthorizedError']
      }
    }
    PublicReplicaLimitReached: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id']
        [name: string]: unknown
      }
      content: {
        'application/json': components['schemas']['ReplicaLimitReachedError']
      }
    }
    PublicRateLimitedOrTooManyRequests: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id']
        'Retry-After': components['headers']['Retry-After']
        [name: string]: unknown
      }
      content: {
        'application/json': components['schemas']['RateLimitedOrTooManyRequestsError']
      }
    }
    PublicInternal: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id']
        [name: string]: unknown
      }
      content: {
        'application/json': components['schemas']['InternalError']
      }
    }
    PublicUnavailable: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id']
        'Retry-After': components['headers']['Retry-After']
        [name: string]: unknown
      }
      content: {
        'application/json': components['schemas']['UnavailableError']
      }
    }
    PublicConnectorReplicaRevoked: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id']
        [name: string]: unknown
      }
      content: {
        'application/json': components['schemas']['ConnectorReplicaRevokedError']
      }
    }
    QuotaExceededOrTooManyRequests: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id']
        'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
        'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
        'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
        'Retry-After': components['headers']['Retry-After']
        [name: string]: unknown
      }
      content: {
        'application/json': components['schemas']['QuotaExceededOrTooManyRequestsError']
      }
    }
    InsufficientApiKeyPermissionsOrForbidden: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id']
        'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
        'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
        'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
        [name: string]: unknown
      }
      content: {
        'application/json': components['schemas']['InsufficientApiKeyPermissionsOrForbiddenError']
      }
    }
  }
  parameters: {
    Limit: number
    Cursor: string
    SortDir: 'asc' | 'desc'
    ProjectId: string
    IdempotencyKey: string
    Cascade: boolean
  }
  requestBodies: never
  headers: {
    'X-Request-Id': string
    'X-RateLimit-Limit': number
    'X-RateLimit-Remaining': number
    'X-RateLimit-Reset': number
    'Retry-After': number
    'Idempotent-Replayed': 'true'
  }
  pathItems: never
}
export type $defs = Record<string, never>
export interface operations {
  listProjects: {
    parameters: {
      query?: {
        limit?: components['parameters']['Limit']
        cursor?: components['parameters']['Cursor']
        sortBy?: 'createdAt' | 'name' | 'updatedAt'
        sortDir?: components['parameters']['SortDir']
      }
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['ProjectList']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  createProject: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['ProjectCreate']
      }
    }
    responses: {
      201: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Project']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  getProject: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Project']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  deleteProject: {
    parameters: {
      query?: {
        cascade?: components['parameters']['Cascade']
      }
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      204: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content?: never
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  updateProject: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['ProjectUpdate']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Project']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  listSources: {
    parameters: {
      query?: {
        limit?: components['parameters']['Limit']
        cursor?: components['parameters']['Cursor']
        sortBy?: 'createdAt' | 'name' | 'updatedAt'
        sortDir?: components['parameters']['SortDir']
      }
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['SourceList']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['ForbiddenOrInsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  createSource: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['SourceCreate']
      }
    }
    responses: {
      201: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Source']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['ForbiddenOrInsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  getSource: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Source']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  deleteSource: {
    parameters: {
      query?: {
        cascade?: components['parameters']['Cascade']
      }
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      204: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content?: never
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  updateSource: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['SourceUpdate']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Source']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  toggleSource: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['Toggle']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Source']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  rotateSourceMask: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: {
      content: {
        'application/json': components['schemas']['NoMembers']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Source']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  rotateSourceSecret: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: {
      content: {
        'application/json': components['schemas']['SourceSecretRotation']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['RotatedSourceSecret']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['ConflictOrRotationOverlapActive']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  cancelSourceRotation: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: {
      content: {
        'application/json': components['schemas']['SourceRotationCancellation']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Source']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['ConflictOrRotationInUse']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['RotationUsageUnavailableOrUnavailable']
    }
  }
  listVerifierPresets: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['VerifierPresetList']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  testSignature: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['SignatureTest']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['SignatureDiagnosis']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['RateLimitedOrTooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  listDestinations: {
    parameters: {
      query?: {
        limit?: components['parameters']['Limit']
        cursor?: components['parameters']['Cursor']
        sortBy?: 'createdAt' | 'name' | 'updatedAt'
        sortDir?: components['parameters']['SortDir']
      }
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['DestinationList']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['ForbiddenOrInsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  createDestination: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['DestinationCreate']
      }
    }
    responses: {
      201: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Destination']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['ForbiddenOrInsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  getDestination: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Destination']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  deleteDestination: {
    parameters: {
      query?: {
        cascade?: components['parameters']['Cascade']
      }
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      204: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content?: never
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  updateDestination: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['DestinationUpdate']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Destination']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  toggleDestination: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['Toggle']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Destination']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  getSigningSecret: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['SigningSecret']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  rotateSigningSecret: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: {
      content: {
        'application/json': components['schemas']['SigningSecretRotation']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['RotatedSigningSecret']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['ConflictOrRotationOverlapActive']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  testDelivery: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: {
      content: {
        'application/json': components['schemas']['TestDeliveryCreate']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['TestDelivery']
        }
      }
      400: components['responses']['BadRequestOrDestinationNotPublic']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  listConnections: {
    parameters: {
      query?: {
        limit?: components['parameters']['Limit']
        cursor?: components['parameters']['Cursor']
        sortBy?: 'createdAt' | 'name' | 'updatedAt'
        sortDir?: components['parameters']['SortDir']
      }
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['ConnectionList']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['ForbiddenOrInsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  createConnection: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['ConnectionCreate']
      }
    }
    responses: {
      201: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Connection']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['ForbiddenOrInsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  getConnection: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Connection']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  deleteConnection: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      204: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content?: never
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  updateConnection: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['ConnectionUpdate']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Connection']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  toggleConnection: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['Toggle']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Connection']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  listConnectors: {
    parameters: {
      query?: {
        limit?: components['parameters']['Limit']
        cursor?: components['parameters']['Cursor']
        sortBy?: 'createdAt' | 'name' | 'updatedAt'
        sortDir?: components['parameters']['SortDir']
      }
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['ConnectorList']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['ForbiddenOrInsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  createConnector: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['ConnectorCreate']
      }
    }
    responses: {
      201: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['CreatedConnector']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['ForbiddenOrInsufficientApiKeyPermissionsOrConnectorLimitReached']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  getConnector: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Connector']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  deleteConnector: {
    parameters: {
      query?: {
        cascade?: components['parameters']['Cascade']
      }
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      204: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content?: never
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['ConnectorProvisioningOrConflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  updateConnector: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['ConnectorUpdate']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Connector']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  toggleConnector: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['ConnectorToggle']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Connector']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  regenerateEnrollment: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: {
      content: {
        'application/json': components['schemas']['NoMembers']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Enrollment']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  upsertConnector: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        name: string
      }
      cookie?: never
    }
    requestBody?: {
      content: {
        'application/json': components['schemas']['ConnectorUpsert']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Connector']
        }
      }
      201: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['CreatedConnector']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['ForbiddenOrInsufficientApiKeyPermissionsOrConnectorLimitReached']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  listReplicas: {
    parameters: {
      query?: {
        limit?: components['parameters']['Limit']
        cursor?: components['parameters']['Cursor']
        sortBy?: 'createdAt' | 'name'
        sortDir?: components['parameters']['SortDir']
      }
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['ReplicaList']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  revokeReplica: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path: {
        id: string
        replicaId: string
      }
      cookie?: never
    }
    requestBody?: {
      content: {
        'application/json': components['schemas']['NoMembers']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Replica']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  bootstrapReplica: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['Bootstrap']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Bootstrapped']
        }
      }
      400: components['responses']['PublicBadRequest']
      401: components['responses']['PublicUnauthorized']
      403: components['responses']['PublicReplicaLimitReached']
      429: components['responses']['PublicRateLimitedOrTooManyRequests']
      500: components['responses']['PublicInternal']
      503: components['responses']['PublicUnavailable']
    }
  }
  reportReplica: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['Heartbeat']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['HeartbeatAnswer']
        }
      }
      400: components['responses']['PublicBadRequest']
      401: components['responses']['PublicUnauthorized']
      403: components['responses']['PublicConnectorReplicaRevoked']
      429: components['responses']['PublicRateLimitedOrTooManyRequests']
      500: components['responses']['PublicInternal']
      503: components['responses']['PublicUnavailable']
    }
  }
  upsertProject: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        name: string
      }
      cookie?: never
    }
    requestBody?: {
      content: {
        'application/json': components['schemas']['ProjectUpsert']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Project']
        }
      }
      201: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Project']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  upsertSource: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        name: string
      }
      cookie?: never
    }
    requestBody?: {
      content: {
        'application/json': components['schemas']['SourceUpsert']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Source']
        }
      }
      201: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Source']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['ForbiddenOrInsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  upsertDestination: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        name: string
      }
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['DestinationUpsert']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Destination']
        }
      }
      201: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Destination']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['ForbiddenOrInsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  upsertConnection: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        name: string
      }
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['ConnectionUpsert']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Connection']
        }
      }
      201: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Connection']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['ForbiddenOrInsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  testFilter: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['FilterTest']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['FilterMatch']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  listEvents: {
    parameters: {
      query?: {
        sourceId?: string
        status?: components['schemas']['EventStatus']
        eventType?: string
        from?: string
        to?: string
        limit?: components['parameters']['Limit']
        cursor?: components['parameters']['Cursor']
        search?: string
        sortBy?: 'createdAt'
        sortDir?: components['parameters']['SortDir']
      }
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['EventList']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['ForbiddenOrInsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  hasAnyEvent: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['EventPresence']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['ForbiddenOrInsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  getEvent: {
    parameters: {
      query?: {
        bodyBytes?: number
      }
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Event']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  getEventTimeline: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Timeline']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  replayEvent: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: {
      content: {
        'application/json': components['schemas']['NoMembers']
      }
    }
    responses: {
      202: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Replay']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['QuotaExceededOrTooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  streamEvents: {
    parameters: {
      query?: {
        sourceId?: string
        status?: components['schemas']['EventStatus']
        eventType?: string
      }
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'last-event-id'?: string
      }
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'text/event-stream': components['schemas']['EventStream']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['ForbiddenOrInsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  listDeliveries: {
    parameters: {
      query?: {
        status?: components['schemas']['DeliveryStatus']
        eventId?: string
        connectionId?: string
        destinationId?: string
        sourceId?: string
        errorCode?: components['schemas']['AttemptErrorCode']
        responseStatus?: string
        from?: string
        to?: string
        limit?: components['parameters']['Limit']
        cursor?: components['parameters']['Cursor']
        sortBy?: 'createdAt' | 'nextAttemptAt'
        sortDir?: components['parameters']['SortDir']
      }
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['DeliveryList']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['ForbiddenOrInsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  getDelivery: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['DeliveryWithAttempts']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  retryDelivery: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: {
      content: {
        'application/json': components['schemas']['NoMembers']
      }
    }
    responses: {
      202: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Delivery']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  cancelDelivery: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: {
      content: {
        'application/json': components['schemas']['NoMembers']
      }
    }
    responses: {
      202: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Delivery']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  getPlan: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['BillingPlan']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  getUsage: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Usage']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  cancelSubscription: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path?: never
      cookie?: never
    }
    requestBody?: {
      content: {
        'application/json': components['schemas']['NoMembers']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['BillingPlan']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissionsOrForbidden']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  resumeSubscription: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path?: never
      cookie?: never
    }
    requestBody?: {
      content: {
        'application/json': components['schemas']['NoMembers']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['BillingPlan']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissionsOrForbidden']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  changePlan: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['PlanChange']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['BillingPlan']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissionsOrForbidden']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  revertScheduledChange: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path?: never
      cookie?: never
    }
    requestBody?: {
      content: {
        'application/json': components['schemas']['NoMembers']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['BillingPlan']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissionsOrForbidden']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  getDashboard: {
    parameters: {
      query?: {
        from?: string
        to?: string
        granularity?: 'minute' | 'hour' | 'day'
        sourceId?: string
        destinationId?: string
        connectionId?: string
        groupBy?: 'source' | 'destination' | 'connection' | 'rejectionReason'
      }
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Dashboard']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['ForbiddenOrInsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  getBacklog: {
    parameters: {
      query?: {
        from?: string
        to?: string
        granularity?: 'minute' | 'hour' | 'day'
      }
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['BacklogHistory']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['ForbiddenOrInsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  getWaitingDeliveries: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['WaitingDeliveries']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['ForbiddenOrInsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  listOperations: {
    parameters: {
      query?: {
        kind?: 'retry' | 'replay' | 'cancel'
        status?: 'running' | 'completed' | 'cancelled'
        limit?: components['parameters']['Limit']
        cursor?: components['parameters']['Cursor']
        sortBy?: 'createdAt'
        sortDir?: components['parameters']['SortDir']
      }
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['OperationList']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['ForbiddenOrInsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  createOperation: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['OperationCreate']
      }
    }
    responses: {
      202: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Operation']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['ForbiddenOrInsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  planOperation: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['OperationCreate']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['OperationPlan']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['ForbiddenOrInsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  getOperation: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Operation']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  cancelOperation: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
        'Idempotency-Key'?: components['parameters']['IdempotencyKey']
      }
      path: {
        id: string
      }
      cookie?: never
    }
    requestBody?: {
      content: {
        'application/json': components['schemas']['NoMembers']
      }
    }
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Operation']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      403: components['responses']['InsufficientApiKeyPermissions']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  getOpenApi: {
    parameters: {
      query?: never
      header?: {
        'X-Project-Id'?: components['parameters']['ProjectId']
      }
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'X-RateLimit-Limit': components['headers']['X-RateLimit-Limit']
          'X-RateLimit-Remaining': components['headers']['X-RateLimit-Remaining']
          'X-RateLimit-Reset': components['headers']['X-RateLimit-Reset']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['OpenApiDocument']
        }
      }
      400: components['responses']['BadRequest']
      401: components['responses']['Unauthorized']
      404: components['responses']['NotFound']
      429: components['responses']['TooManyRequests']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
}
