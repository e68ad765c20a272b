import { makeSecret, parseSecret, type NewSecret } from './secret-text.ts'

/** A new key as its owner sees it once. (decisions: Rotation, keys, roles) */
export function makeApiKey(prefix: string): NewSecret {
  return makeSecret(prefix, 'sk')
}

/** The hash under which a key is stored; undefined for what was never a key of this installation. */
export function parseApiKey(prefix: string, text: string): Buffer | undefined {
  return parseSecret(prefix, 'sk', text)
}
