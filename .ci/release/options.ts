/** The words behind `npm run release --`. */
export interface Options {
  /** Faults of the tree are told and do not end it: for a change that is no release yet. */
  isRehearsal: boolean
  hasImage: boolean
}

const KNOWN = new Set(['--rehearse', '--without-image'])

/** Throws on a word that it does not know. */
export function readOptions(words: readonly string[]): Options {
  const unknown = words.find((word) => !KNOWN.has(word))
  if (unknown !== undefined) {
    throw new Error(`Unknown option ${unknown}. There are ${[...KNOWN].join(' and ')}`)
  }
  return {
    isRehearsal: words.includes('--rehearse'),
    hasImage: !words.includes('--without-image'),
  }
}
