import type { Schemas } from '../api/client.ts'

const WORDS: Record<Schemas['AttemptErrorCode'], string> = {
  bad_response: 'The endpoint answered with a status that is no success',
  timeout: 'The endpoint did not answer in time',
  dns_error: 'The host name could not be resolved',
  connection_refused: 'Nothing listens at the address',
  connection_reset: 'The connection broke before an answer',
  tls_error: 'No secure connection could be made: check the certificate',
  host_unreachable: 'No route leads to the address',
  address_blocked: 'Postern refuses this address: it is private or reserved. Use a connector',
  response_too_large: 'The headers of the answer are too large',
  connector_offline: 'No replica of the connector is online',
  connector_timeout: 'The connector did not answer in time',
  connector_lost: 'The connector was lost during the request',
  host_not_allowed: 'The connector does not allow this host',
  expired: 'It waited until its event was past retention',
  internal: 'Postern itself failed; it tries again',
}

export function errorWords(code: string): string {
  return new Map(Object.entries(WORDS)).get(code) ?? code.replaceAll('_', ' ')
}

const TRIGGERS: Record<Schemas['Attempt']['trigger'], string> = {
  initial: 'first',
  automatic: 'retry',
  manual: 'by hand',
  bulk: 'bulk work',
}

export const triggerWord = (trigger: Schemas['Attempt']['trigger']): string => TRIGGERS[trigger]

/** `500 in 210 ms`, `timeout after 30 s`. */
export function answerOf({ responseStatus, errorCode }: Schemas['Attempt']): string {
  if (responseStatus !== null) return String(responseStatus)
  return errorCode === null ? 'no answer' : errorCode.replaceAll('_', ' ')
}
