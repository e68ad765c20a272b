const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** The six bits of a byte of base64; -1 for every other byte. (RFC 4648 4) */
export const SIX_BITS = new Int8Array(256).fill(-1)
for (let value = 0; value < ALPHABET.length; value++) SIX_BITS[ALPHABET.charCodeAt(value)] = value
