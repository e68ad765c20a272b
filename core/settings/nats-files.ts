import { X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'

import { z } from 'zod'

import { natsUrlsOf, type NatsFiles } from '../urls/nats-urls.ts'
import { certificateFault } from './certificate.ts'
import { fileFault, readableFile } from './file-kinds.ts'
import { refuse } from './setting-kinds.ts'

const BYTES_MAX = 64 * 1024

/** A file, by its path, whose text `faultOf` finds right. A fault shows nothing of it. */
function fileOf(faultOf: (path: string) => string | undefined) {
  return z.string().transform((path, context) => {
    const fault = fileFault(path) ?? sizeFault(path) ?? faultOf(path)
    return fault === undefined ? path : refuse(context, fault)
  })
}

function sizeFault(path: string): string | undefined {
  return statSync(path).size > BYTES_MAX ? `is larger than ${BYTES_MAX} bytes` : undefined
}

const SEED = String.raw`SU[A-Z2-7]{56}`
const CREDENTIALS = new RegExp(
  String.raw`^-{3,}[^\n]*-{3,}\n\S+\.\S+\.\S+\s+-{3,}[^]*^-{3,}[^\n]*-{3,}\n${SEED}\s`,
  'm',
)

// Without the client of NATS, which programs that have no NATS would load: the connect checks the rest.
const credentials = fileOf((path) =>
  CREDENTIALS.test(textOf(path))
    ? undefined
    : 'must hold a JWT and a seed, as `nsc generate creds` writes them',
)

const nkeySeed = fileOf((path) =>
  new RegExp(`^${SEED}$`).test(textOf(path))
    ? undefined
    : 'must hold the seed of a user, which begins with SU',
)

function textOf(path: string): string {
  return readFileSync(path, 'utf8').trim()
}

const authority = fileOf((path) =>
  isCertificate(path) ? undefined : 'must hold a certificate in PEM',
)

function isCertificate(path: string): boolean {
  try {
    return new X509Certificate(readFileSync(path)).raw.length > 0
  } catch {
    return false
  }
}

/** By which files a client of NATS signs in, and trusts its servers. */
export const natsFileSettings = {
  NATS_CREDS_FILE: credentials.optional(),
  NATS_NKEY_SEED_FILE: nkeySeed.optional(),
  NATS_CA_FILE: authority.optional(),
  NATS_TLS_CERT_FILE: readableFile.optional(),
  NATS_TLS_KEY_FILE: readableFile.optional(),
  SPOOL_NATS_CREDS_FILE: credentials.optional(),
  SPOOL_NATS_NKEY_SEED_FILE: nkeySeed.optional(),
  SPOOL_NATS_CA_FILE: authority.optional(),
  SPOOL_NATS_TLS_CERT_FILE: readableFile.optional(),
  SPOOL_NATS_TLS_KEY_FILE: readableFile.optional(),
}

/** The files, as far as they are set. */
export type NatsFileValues = { [Name in keyof typeof natsFileSettings]?: string | undefined }
type Urls = { NATS_URL?: string | undefined; SPOOL_NATS_URL?: string | undefined }

export function natsFilesOf(values: NatsFileValues): NatsFiles {
  return filesOf(values, '')
}

/** The files of SPOOL_NATS_URL; without it the spool shares the connection of NATS_URL. */
export function spoolFilesOf(values: NatsFileValues): NatsFiles {
  return filesOf(values, 'SPOOL_')
}

function filesOf(values: NatsFileValues, server: '' | 'SPOOL_'): NatsFiles {
  return {
    creds: values[`${server}NATS_CREDS_FILE`],
    nkeySeed: values[`${server}NATS_NKEY_SEED_FILE`],
    ca: values[`${server}NATS_CA_FILE`],
    cert: values[`${server}NATS_TLS_CERT_FILE`],
    key: values[`${server}NATS_TLS_KEY_FILE`],
  }
}

/** Files that contradict each other or the URL of their server, or are of none. */
export function natsFileFaults(
  values: NatsFileValues & Urls,
  isGiven: (name: string) => boolean,
): string[] {
  return (['', 'SPOOL_'] as const).flatMap((server) => {
    const url = `${server}NATS_URL` as const
    const names = Object.entries(values).flatMap(([name, path]) =>
      path !== undefined && name in natsFileSettings && name.startsWith(`${server}NATS_`)
        ? name
        : [],
    )
    if (names.length > 0 && !isGiven(url)) return [`${names.join(', ')}: needs ${url}`]
    return [
      ...signInFaults(filesOf(values, server), { server, url: values[url] }),
      ...certificateFaults(filesOf(values, server), server),
    ]
  })
}

function signInFaults(
  { creds, nkeySeed: seed }: NatsFiles,
  { server, url }: { server: string; url: string | undefined },
): string[] {
  const hasUser = url !== undefined && natsUrlsOf(url).some((each) => URL.parse(each)?.username)
  const ways = [
    ...(hasUser ? [`the user of ${server}NATS_URL`] : []),
    ...(creds === undefined ? [] : [`${server}NATS_CREDS_FILE`]),
    ...(seed === undefined ? [] : [`${server}NATS_NKEY_SEED_FILE`]),
  ]
  return ways.length < 2 ? [] : [`${ways.join(' and ')}: set one of them`]
}

function certificateFaults({ cert, key }: NatsFiles, server: string): string[] {
  const names = `${server}NATS_TLS_CERT_FILE and ${server}NATS_TLS_KEY_FILE`
  if (cert === undefined && key === undefined) return []
  if (cert === undefined || key === undefined) return [`${names}: set both of them, or none`]
  const fault = certificateFault({ cert, key })
  return fault === undefined ? [] : [`${names}: ${fault}`]
}
