import type { Actor } from '../../core/db/requests/audit.ts'

/** Who acts where a test acts without a request. */
export const TESTER: Actor = { name: 'test', address: null }
