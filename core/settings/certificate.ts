import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'

/** The files of a certificate and its key, in PEM. */
export interface CertificateFiles {
  cert: string
  key: string
}

/** The texts of both files; throws when they cannot be read or do not belong together. */
export function readCertificate(files: CertificateFiles): { cert: string; key: string } {
  const read = { cert: readFileSync(files.cert, 'utf8'), key: readFileSync(files.key, 'utf8') }
  createSecureContext(read)
  return read
}

/** Why no server can use them; undefined when one can. */
export function certificateFault(files: CertificateFiles): string | undefined {
  try {
    readCertificate(files)
    return undefined
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return `are no certificate with its key in PEM (${why})`
  }
}
