import type { SIGN_IN_PROBLEMS } from '../../routes/values.ts'

/** Why the provider signed nobody in, in words for whoever stands before the door. */
export const PROBLEM_WORDS: Readonly<Record<(typeof SIGN_IN_PROBLEMS)[number], string>> = {
  cancelled: 'You turned back at the provider, so nobody was signed in.',
  expired: 'This sign-in took too long, or began in another browser. Begin it again here.',
  unverified: 'The provider has not verified your email address, so it cannot be trusted here.',
  unknown:
    'The provider knows you, but nobody has invited your email address. Ask an owner of the organisation.',
  seats: 'All seats of the plan are taken. Ask an owner of the organisation.',
  busy: 'Too many people sign in from your address. Wait a minute, and begin again.',
  away: 'The provider does not answer. Begin again in a while.',
  failed:
    'The provider and Postern did not understand each other. Begin again; if it stays so, the log of the API says why.',
}
