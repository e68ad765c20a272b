import { INVITATION_DAYS, RESET_MAIL_MINUTES } from '../../core/limits.ts'
import type { Letter } from '../../core/mail/letter.ts'

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

/** To whoever is invited. */
export function invitationLetter(invitation: {
  organisation: string
  inviter: string
  role: string
  url: string
}): Letter {
  const { organisation, inviter, role, url } = invitation
  return {
    subject: `${inviter} invites you to ${organisation} on Postern`,
    paragraphs: [
      `${inviter} invites you to join "${organisation}" as ${role === 'member' ? 'a' : 'an'} ${role}. Postern takes webhooks, keeps them and delivers them.`,
      `This link is good once, for ${INVITATION_DAYS} days.`,
    ],
    action: { label: 'Accept the invitation', url },
    end: 'If you do not know them, do nothing: the invitation ends by itself.',
  }
}
