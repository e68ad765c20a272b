import { sameBytes, sha256 } from '../verify/request/encoding.ts'

/** Whether both hold the same secrets, in whatever order of members. The time that it takes tells nothing of them. */
export function sameSecrets(a: object, b: object): boolean {
  return sameBytes(digestOf(a), digestOf(b))
}

function digestOf(secrets: object): Buffer {
  const members = Object.entries(secrets).filter(([, value]) => value !== undefined)
  return sha256(Buffer.from(JSON.stringify(members.toSorted(([x], [y]) => (x < y ? -1 : 1)))))
}
