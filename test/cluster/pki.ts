import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Certificates and kubeconfigs of a cluster lie in its directory. */
export interface Place {
  dir: string
  server: string
}

export const pkiFile = (dir: string, file: string): string => join(dir, 'pki', file)
export const kubeconfigFile = (dir: string, name: string): string => join(dir, 'kubeconfig', name)

/** An authority of its own, the server's certificate, and a kubeconfig for whoever runs the cluster. */
export async function createCertificates(place: Place): Promise<void> {
  const { dir } = place
  // The system's file would mark every certificate as an authority.
  await writeFile(pkiFile(dir, 'openssl.cnf'), '[req]\ndistinguished_name = dn\n[dn]\n')
  await openssl(dir, { name: 'ca', subject: '/CN=postern-test-ca' }, [
    'basicConstraints=critical,CA:TRUE',
    'keyUsage=critical,keyCertSign,digitalSignature',
    'subjectKeyIdentifier=hash',
  ])
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pem = privateKey.export({ type: 'pkcs1', format: 'pem' })
  await writeFile(pkiFile(dir, 'service-account.key'), pem, { mode: 0o600 })

  const names = ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc']
  const addresses = ['127.0.0.1', '10.96.0.1', new URL(place.server).hostname]
  const alternatives = [
    ...names.map((name) => `DNS:${name}`),
    ...addresses.map((address) => `IP:${address}`),
  ].join(',')
  const server = { name: 'apiserver', subject: '/CN=kube-apiserver', issuer: 'ca' }
  await Promise.all([
    openssl(dir, server, [...leaf('serverAuth'), `subjectAltName=${alternatives}`]),
    client(place, 'admin', ['system:masters']),
    client(place, 'system:kube-controller-manager', []),
  ])
}

/** A server's certificate for an address and a name. */
export async function serverCertificate(
  dir: string,
  name: string,
  alternatives: string,
): Promise<void> {
  const of = { name, subject: `/CN=${name}`, issuer: 'ca' }
  await openssl(dir, of, [...leaf('serverAuth'), `subjectAltName=${alternatives}`])
}

/** A kubeconfig for a user with a certificate: no rights but those that RBAC gives it. */
export async function client(
  place: Place,
  user: string,
  groups: readonly string[],
): Promise<string> {
  const subject = [...groups.map((group) => `/O=${group}`), `/CN=${user}`].join('')
  const name = fileName(user)
  await openssl(place.dir, { name, subject, issuer: 'ca' }, leaf('clientAuth'))
  const read = async (file: string): Promise<string> =>
    (await readFile(pkiFile(place.dir, file))).toString('base64')
  return await writeKubeconfig(place, name, {
    'client-certificate-data': await read(`${name}.crt`),
    'client-key-data': await read(`${name}.key`),
  })
}

/** JSON is YAML: no library is needed. */
export async function writeKubeconfig(
  { dir, server }: Place,
  name: string,
  user: Record<string, string>,
): Promise<string> {
  const ca = await readFile(pkiFile(dir, 'ca.crt'))
  const cluster = { server, 'certificate-authority-data': ca.toString('base64') }
  const file = kubeconfigFile(dir, fileName(name))
  const content = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster }],
    users: [{ name: 'test', user }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  }
  await writeFile(file, JSON.stringify(content, null, 2), { mode: 0o600 })
  return file
}

function fileName(text: string): string {
  return text.replace(/[^\w.-]/g, '_')
}

function leaf(usage: string): string[] {
  return [
    'basicConstraints=critical,CA:FALSE',
    'keyUsage=critical,digitalSignature',
    `extendedKeyUsage=${usage}`,
    'authorityKeyIdentifier=keyid',
  ]
}

async function openssl(
  dir: string,
  { name, subject, issuer }: { name: string; subject: string; issuer?: string },
  extensions: readonly string[],
): Promise<void> {
  const file = (ending: string): string => pkiFile(dir, `${name}.${ending}`)
  const signed =
    issuer === undefined
      ? []
      : ['-CA', pkiFile(dir, `${issuer}.crt`), '-CAkey', pkiFile(dir, `${issuer}.key`)]
  const args = ['req', '-x509', '-config', pkiFile(dir, 'openssl.cnf'), '-days', '30', '-nodes']
  args.push('-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-subj', subject)
  args.push('-keyout', file('key'), '-out', file('crt'), ...signed)
  args.push(...extensions.flatMap((extension) => ['-addext', extension]))
  await run('openssl', args)
}
