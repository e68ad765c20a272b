import { rotateEncryptionKey } from '../../../core/actions/rotate.ts'
import { keyringOf } from '../arguments.ts'
import type { Command } from '../command.ts'

const rotate: Command = {
  positionals: [],
  options: [],
  help: {
    usage: '',
    text:
      'Seals every secret of sources and destinations under the first key of POSTERN_ENCRYPTION_KEY. First restart every\n' +
      'role with both, "2026:<new>,0:<old>" (a key that was set without an id has the id 0), then run this, and\n' +
      '24 hours later, when no kept answer to an Idempotency-Key needs it, take the old key away. Can be interrupted\n' +
      'and run again.',
    example: 'secrets rotate-encryption-key',
  },
  read: () => async (context) => {
    const keyring = keyringOf(context.settings)
    const [encryptionKey] = keyring.keys()
    const { source, destination } = await rotateEncryptionKey(context.db, keyring)
    return { encryptionKey, sources: source, destinations: destination }
  },
}

export const SECRET_COMMANDS: Readonly<Record<string, Command>> = {
  'rotate-encryption-key': rotate,
}
