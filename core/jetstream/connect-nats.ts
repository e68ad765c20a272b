import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream'
import { errors } from '@nats-io/transport-node'

import type { Logger } from '../log.ts'
import { openNats, type NatsConnection } from '../nats.ts'
import { Unusable } from '../start-up.ts'
import { natsHostsOf, type NatsFiles } from '../urls/nats-urls.ts'
import { ensureDeliveryStream } from './delivery-stream.ts'

const VERSION_MIN = [2, 9] as const
const ANSWER_MS = 3_000

/** A connection to a NATS with JetStream that is new enough. Throws an Unusable that says why there is none. */
export async function connectNats(
  url: string,
  name: string,
  log: Logger,
  files: NatsFiles = {},
): Promise<NatsConnection> {
  const place = `NATS at ${natsHostsOf(url).join(', ')}`
  let nats: NatsConnection
  try {
    nats = await openNats(url, name, log, files)
  } catch (error) {
    throw connectionUnusable(error, place, files)
  }
  try {
    refuseVersion(nats, place)
    const manager = await jetstreamManager(nats, { checkAPI: false, timeout: ANSWER_MS })
    await manager.getAccountInfo()
    return nats
  } catch (error) {
    await nats.close()
    throw error instanceof Unusable ? error : streamUnusable(error, place)
  }
}

function refuseVersion({ info }: NatsConnection, place: string): void {
  const [major = 0, minor = 0] = (info?.version ?? '').split('.').map(Number)
  if (major > VERSION_MIN[0] || (major === VERSION_MIN[0] && minor >= VERSION_MIN[1])) return
  const found = `is version ${info?.version ?? 'unknown'}`
  throw new Unusable(`${place} ${found}: it must be ${VERSION_MIN.join('.')} or newer`, true)
}

/** The client gives each of them a text alone, or one of these as its cause. */
function connectionUnusable(error: unknown, place: string, files: NatsFiles): Unusable {
  const texts = textsOf(error)
  if (error instanceof errors.AuthorizationError || /authoriz|authentic/i.test(texts)) {
    return new Unusable(`${place} refuses ${signInOf(files)}, or asks for some`, true, {
      cause: error,
    })
  }
  if (/certificate|altname/i.test(texts)) {
    return new Unusable(
      `${place} has a certificate that is not trusted, or asks for one (${lineOf(error)})`,
      true,
      { cause: error },
    )
  }
  if (/ENOTFOUND|EAI_AGAIN/.test(texts)) {
    return new Unusable(`${place} cannot be found: its name has no address`, false, {
      cause: error,
    })
  }
  if (/ECONNREFUSED|connection refused/i.test(texts)) {
    return new Unusable(`${place} refuses connections: nothing listens there`, false, {
      cause: error,
    })
  }
  if (error instanceof errors.TimeoutError || /timeout/i.test(texts)) {
    return new Unusable(`${place} does not answer as a NATS server does`, false, { cause: error })
  }
  if (/support 'tls'/.test(texts)) {
    return new Unusable(`${place} speaks no TLS, which tls:// asks for`, true, { cause: error })
  }
  return new Unusable(`${place} cannot be used: ${lineOf(error)}`, false, { cause: error })
}

function signInOf({ creds, nkeySeed }: NatsFiles): string {
  if (creds !== undefined) return 'the credentials of its file'
  return nkeySeed === undefined ? 'the user and the password' : 'the nkey'
}

function streamUnusable(error: unknown, place: string): Unusable {
  return /jetstream.*not enabled|no responders/i.test(textsOf(error))
    ? new Unusable(
        `${place} has no JetStream: start it with -js, or enable it for this account`,
        true,
        { cause: error },
      )
    : new Unusable(`${place}: JetStream does not answer (${lineOf(error)})`, false, {
        cause: error,
      })
}

/** Makes the stream of deliveries. A cluster that elects its leader, or has no room left, may do it a moment later. */
export async function deliveryStreamOf(nats: NatsConnection): Promise<JetStreamManager> {
  try {
    return await ensureDeliveryStream(nats)
  } catch (error) {
    const text = `NATS cannot make the stream of deliveries: ${lineOf(error)}`
    throw new Unusable(text, false, { cause: error })
  }
}

function textsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error ? String(error.code) : ''
  return `${error.name} ${code} ${error.message} ${error.cause === undefined ? '' : textsOf(error.cause)}`
}

function lineOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? ''
}
