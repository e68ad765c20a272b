import { argon2, randomBytes, timingSafeEqual, type Argon2Parameters } from 'node:crypto'
import { promisify } from 'node:util'

import { PASSWORD_HASHES_AT_ONCE, PASSWORD_HASHES_WAITING_MAX } from '../limits.ts'
import { FairTurns, TurnsTaken } from '../pacing/fair-turns.ts'

/** Argon2id with 19 MiB and 2 passes, as OWASP recommends at least: about 50 ms of one core. */
const MEMORY_KIB = 19_456
const PASSES = 2
const LANES = 1
const SALT_BYTES = 16
const TAG_BYTES = 32

const STORED = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/

const derive = promisify(argon2)
const turns = new FairTurns({
  places: PASSWORD_HASHES_AT_ONCE,
  waitingMax: PASSWORD_HASHES_WAITING_MAX,
})

/** More passwords wait to be hashed than will be soon. */
export class PasswordsBusy extends Error {
  override readonly name = 'PasswordsBusy'
}

/** Passwords hashed since the process began: by it a test sees that an unknown person costs the same work. */
export const work = { hashes: 0 }

/** The text under which a password is stored, with all that checking it needs. `by`: the client, which takes turns with others. */
export async function hashPassword(password: string, by: string): Promise<string> {
  const nonce = randomBytes(SALT_BYTES)
  const tag = await hash(password, by, {
    nonce,
    memory: MEMORY_KIB,
    passes: PASSES,
    parallelism: LANES,
    tagLength: TAG_BYTES,
  })
  const start = `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${LANES}`
  return `${start}$${base64(nonce)}$${base64(tag)}`
}

/** Whether the password is the one that was stored. Without a stored one it takes as long, and is not. `by` as above. */
export async function isPassword(
  password: string,
  stored: string | null,
  by: string,
): Promise<boolean> {
  const parts = STORED.exec(stored ?? NOBODYS)
  if (parts === null) throw new Error('A stored password has an unknown form')
  const [, memory, passes, parallelism, salt = '', tag = ''] = parts
  const expected = Buffer.from(tag, 'base64')
  const found = await hash(password, by, {
    nonce: Buffer.from(salt, 'base64'),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: expected.length,
  })
  return timingSafeEqual(found, expected) && stored !== null
}

/** Hashed with when there is nobody, so that the answer takes as long. */
const NOBODYS = `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${LANES}$${base64(Buffer.alloc(SALT_BYTES))}$${base64(Buffer.alloc(TAG_BYTES))}`

async function hash(
  password: string,
  by: string,
  parameters: Omit<Argon2Parameters, 'message'>,
): Promise<Buffer> {
  // Two ways to type the same letters are the same password.
  const message = password.normalize('NFC')
  try {
    return await turns.take(by, async () => {
      work.hashes++
      return await derive('argon2id', { ...parameters, message })
    })
  } catch (error) {
    if (error instanceof TurnsTaken) throw new PasswordsBusy('Too many people sign in at once')
    throw error
  }
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '')
}
