import { natsHostsOf } from '../urls/nats-urls.ts'
import { certificateFault } from './certificate.ts'

/** The settings that depend on one another, as far as they are set and right by themselves. */
interface Values extends Partial<Record<PortName, number | undefined>> {
  API_URL?: string | undefined
  AUTH_PASSWORDS?: string | undefined
  MAIL_FROM?: string | undefined
  NATS_URL?: string | undefined
  OIDC_CLIENT_ID?: string | undefined
  OIDC_CLIENT_SECRET?: string | undefined
  OIDC_ISSUER?: string | undefined
  SMTP_DOMAIN?: string | undefined
  SMTP_TLS_CERT_FILE?: string | undefined
  SMTP_TLS_KEY_FILE?: string | undefined
  SMTP_URL?: string | undefined
  SPOOL_NATS_URL?: string | undefined
  SPOOL_REPLICAS?: number | undefined
}

export type PortName = 'API_PORT' | 'INGEST_PORT' | 'GATEWAY_PORT' | 'OPS_PORT' | 'SMTP_PORT'

/** Two ports of 0 are no fault: each becomes a free one. */
export function samePorts(values: Values, one: PortName, other: PortName): string[] {
  if (values[one] !== values[other] || values[one] === undefined || values[one] === 0) return []
  return [`${one} and ${other} are both ${values[one]}: each needs a port of its own`]
}

export function spoolFaults({ NATS_URL, SPOOL_NATS_URL, SPOOL_REPLICAS }: Values): string[] {
  const isSame =
    SPOOL_NATS_URL !== undefined &&
    NATS_URL !== undefined &&
    natsHostsOf(SPOOL_NATS_URL).some((host) => natsHostsOf(NATS_URL).includes(host))
  if (!isSame || SPOOL_REPLICAS !== undefined) return []
  return [
    'SPOOL_NATS_URL: is the server of NATS_URL. The spool needs one of its own, or copies on a cluster: SPOOL_REPLICAS',
  ]
}

/** Mail that is sent. */
export function outgoingMailFaults({ SMTP_URL, MAIL_FROM }: Values): string[] {
  if ((SMTP_URL === undefined) === (MAIL_FROM === undefined)) return []
  return [
    SMTP_URL === undefined
      ? 'MAIL_FROM: needs SMTP_URL, the server that mail is sent through'
      : 'SMTP_URL: needs MAIL_FROM, such as Postern <postern@example.com>',
  ]
}

/** Mail that ingest takes. */
export function incomingMailFaults(values: Values): string[] {
  const { SMTP_PORT, SMTP_DOMAIN } = values
  return [
    ...(SMTP_PORT !== undefined && SMTP_DOMAIN === undefined
      ? ['SMTP_DOMAIN: is missing. SMTP_PORT needs the domain of its addresses: mail.example.com']
      : []),
    ...samePorts(values, 'INGEST_PORT', 'SMTP_PORT'),
    ...samePorts(values, 'OPS_PORT', 'SMTP_PORT'),
    ...mailCertificateFaults(values),
  ]
}

export function mailCertificateFaults({ SMTP_TLS_CERT_FILE, SMTP_TLS_KEY_FILE }: Values): string[] {
  if (SMTP_TLS_CERT_FILE === undefined && SMTP_TLS_KEY_FILE === undefined) return []
  if (SMTP_TLS_CERT_FILE === undefined || SMTP_TLS_KEY_FILE === undefined) {
    return ['SMTP_TLS_CERT_FILE and SMTP_TLS_KEY_FILE: set both of them, or none']
  }
  const fault = certificateFault({ cert: SMTP_TLS_CERT_FILE, key: SMTP_TLS_KEY_FILE })
  return fault === undefined ? [] : [`SMTP_TLS_CERT_FILE and SMTP_TLS_KEY_FILE: ${fault}`]
}

export function providerFaults(values: Values): string[] {
  const { OIDC_ISSUER, OIDC_CLIENT_ID, AUTH_PASSWORDS } = values
  if (OIDC_ISSUER !== undefined) {
    return OIDC_CLIENT_ID === undefined
      ? ['OIDC_ISSUER: needs OIDC_CLIENT_ID, by which the provider knows this installation']
      : []
  }
  const idle = (['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'] as const).filter(
    (name) => values[name] !== undefined,
  )
  return [
    ...idle.map((name) => `${name}: needs OIDC_ISSUER, the provider that it is of`),
    ...(AUTH_PASSWORDS === 'off'
      ? ['AUTH_PASSWORDS: nobody could sign in. Set OIDC_ISSUER, or leave passwords on']
      : []),
  ]
}

/** A role does not know under which address people reach it. */
export function withoutOriginFaults({ API_URL, SMTP_URL, OIDC_ISSUER }: Values): string[] {
  if (API_URL !== undefined) return []
  return [
    ...(SMTP_URL === undefined
      ? []
      : ['SMTP_URL: needs API_URL, the origin that links in mails begin with']),
    ...(OIDC_ISSUER === undefined
      ? []
      : ['OIDC_ISSUER: needs API_URL, the origin that the provider sends people back to']),
  ]
}
