import type { Schemas } from '../../../api/client.ts'

interface Meaning {
  words: string
  traps: readonly string[]
}

/** Each reason in words, with what usually causes it. */
export const REASONS: Record<Schemas['RejectionReason'], Meaning> = {
  signature_mismatch: {
    words: 'The signature does not belong to these bytes and this secret.',
    traps: [
      'The secret is of another endpoint, or of the test mode.',
      'A proxy parsed the body and wrote it anew, with other spaces or another order.',
      'A newline was added at the end of the body.',
      'The secret was pasted without its prefix, or with blanks around it.',
    ],
  },
  missing_signature_header: {
    words: 'The request carries no signature.',
    traps: [
      'The sender does not sign, or a proxy removed the header.',
      'The preset is of another provider.',
    ],
  },
  missing_id_header: {
    words: 'The header with the id of the message is missing.',
    traps: ['A proxy removed it, or the provider is another one.'],
  },
  missing_timestamp_header: {
    words: 'The header with the time of sending is missing.',
    traps: ['A proxy removed it, or the provider is another one.'],
  },
  malformed_signature_header: {
    words: 'The signature is there, but it is not written as this provider writes it.',
    traps: [
      'Hex where base64 is expected, or the other way round.',
      'A field that may occur once occurs twice.',
    ],
  },
  malformed_timestamp: {
    words: 'The time of sending cannot be read.',
    traps: ['Milliseconds where seconds are expected.'],
  },
  timestamp_out_of_tolerance: {
    words: 'The request is older, or newer, than is tolerated.',
    traps: ['The clock of a machine is wrong.', 'An old request was sent once more.'],
  },
  verifier_misconfigured: {
    words: 'The verifier of the source cannot work as it is set.',
    traps: ['The secret is no key of the kind that the verifier needs.'],
  },
  unsupported_verifier: {
    words: 'This version of Postern does not know the verifier.',
    traps: [],
  },
}
