import { ACCOUNT_LINK_HOURS, INVITATION_DAYS, RESET_MAIL_MINUTES } from '../../core/limits.ts'
import type { Letter } from '../../core/mail/letter.ts'
import { withoutLinks } from '../../core/mail/without-links.ts'

/** To whoever asked for a new password. */
export function resetLetter(url: string): Letter {
  return {
    subject: 'Choose a new password for Postern',
    paragraphs: [
      'Somebody asked for a new password for your account, most likely you.',
      `This link is good once, for ${RESET_MAIL_MINUTES} minutes. Your present password works until you use it, and your sessions end then.`,
    ],
    action: { label: 'Choose a new password', url },
    end: 'If it was not you, do nothing: without this link nobody can change your password.',
  }
}

/** To the owner of an address that an account has without having verified it. */
export function newcomerLetter(url: string): Letter {
  return {
    subject: 'Begin a new account at Postern',
    paragraphs: [
      'Somebody asked for a new password for the account with your address. Whoever made that account has never proved that the address is theirs.',
      `This link is good once, for ${RESET_MAIL_MINUTES} minutes. It proves that the address is yours and begins a new account with it; the other account ends, and its organisations, API keys and agents are not yours.`,
    ],
    action: { label: 'Begin a new account', url },
    end: 'If you made that account and know its password, sign in with it instead, and prove your address on the page "Your account": then you keep everything.',
  }
}

/** To a person who signs up. */
export function signUpLetter(url: string): Letter {
  return {
    subject: 'Make your account at Postern',
    paragraphs: [
      'Somebody wants to make an account with this address, most likely you.',
      `This link is good once, for ${ACCOUNT_LINK_HOURS} hours. You choose your name and password there.`,
    ],
    action: { label: 'Make the account', url },
    end: 'If it was not you, do nothing: without this link there is no account.',
  }
}

/** To a person who signs up and has an account. */
export function knownLetter(origin: string): Letter {
  return {
    subject: 'You have an account at Postern',
    paragraphs: [
      'Somebody wants to make an account with this address, most likely you. There is one already: sign in to it. If the password is lost, ask for a new one there.',
    ],
    action: { label: 'Sign in', url: `${origin}/sign-in` },
    end: 'If it was not you, do nothing: nothing has changed.',
  }
}

/** To a person who is signed in and has not verified the address. */
export function verifyLetter(url: string): Letter {
  return {
    subject: 'Prove your address to Postern',
    paragraphs: [
      'Somebody who is signed in to an account with this address wants to prove that it is theirs, most likely you.',
      `This link is good once, for ${ACCOUNT_LINK_HOURS} hours, in the browser that is signed in.`,
    ],
    action: { label: 'Prove the address', url },
    end: 'If it was not you, do nothing, and do not open the link: the account is not yours.',
  }
}

/** To whoever is invited. */
export function invitationLetter(invitation: {
  organisation: string
  inviter: string
  role: string
  url: string
}): Letter {
  const { organisation, role, url } = invitation
  const inviter = named(invitation.inviter, invitation.inviter, 'Somebody')
  return {
    subject: `${inviter} invites you to ${named(organisation, organisation, 'an organisation')} on Postern`,
    paragraphs: [
      `${inviter} invites you to join ${named(organisation, `"${organisation}"`, 'an organisation')} as ${role === 'member' ? 'a' : 'an'} ${role}. Postern takes webhooks, keeps them and delivers them.`,
      `This link is good once, for ${INVITATION_DAYS} days.`,
    ],
    action: { label: 'Accept the invitation', url },
    end: 'If you do not know them, do nothing: the invitation ends by itself.',
  }
}

/** How a letter to a stranger names something: without its name where a mail program would make a link of that. */
function named(name: string, shown: string, otherwise: string): string {
  return withoutLinks(name) === name ? shown : otherwise
}
