import { createPrivateKey } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls'

import { z } from 'zod'

import { whyUnusable } from '../../core/settings/setting-files.ts'

/** The certificates of a whole system are some 300 KiB. */
const FILE_BYTES_MAX = 1024 * 1024

type FileRead = { text: string } | { fault: string }

/** A text file that may change while the process runs. */
export class FileText {
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  read(): FileRead {
    try {
      const found = statSync(this.path)
      if (!found.isFile()) return { fault: 'is no regular file' }
      if (found.size > FILE_BYTES_MAX) return { fault: `is larger than ${FILE_BYTES_MAX} bytes` }
      const text = readFileSync(this.path, 'utf8').trim()
      return text === '' ? { fault: 'is empty' } : { text }
    } catch (error) {
      return { fault: whyUnusable(error) }
    }
  }
}

/** PEM certificates. */
export const certificates = z.string().refine(
  (text) => {
    try {
      createSecureContext({ ca: text })
      return text.includes('-----BEGIN CERTIFICATE-----')
    } catch {
      return false
    }
  },
  { error: 'must be one or more PEM certificates, which begin with -----BEGIN CERTIFICATE-----' },
)

/** A PEM private key. */
export const privateKey = z.string().refine(
  (text) => {
    try {
      createPrivateKey(text)
      return true
    } catch {
      return false
    }
  },
  { error: 'must be a PEM private key without a passphrase' },
)

interface Trust {
  /** PEM certificates to trust beside the system's. */
  ca?: string | undefined
  cert?: string | undefined
  key?: string | undefined
}

/**
 * For TLS to whom these certificates concern; undefined when Node's own is right. Made once: a context with all of a
 * system's certificates takes some milliseconds.
 */
export function secureContextFor({ ca, cert, key }: Trust): SecureContext | undefined {
  if (ca === undefined && cert === undefined) return undefined
  return createSecureContext({
    minVersion: 'TLSv1.2',
    ...(ca !== undefined && { ca: [...getCACertificates('default'), ca] }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  })
}
