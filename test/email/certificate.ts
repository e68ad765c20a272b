import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

import type { CertificateFiles } from '../../core/settings/certificate.ts'

/** Makes a certificate for a name, signed by itself. */
export function makeCertificate(directory: string, name = 'localhost'): CertificateFiles {
  const files = { cert: join(directory, 'tls.crt'), key: join(directory, 'tls.key') }
  execFileSync(
    'openssl',
    `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=${name}
      -addext subjectAltName=DNS:${name} -keyout ${files.key} -out ${files.cert}`.split(/\s+/),
    { stdio: 'ignore' },
  )
  return files
}
