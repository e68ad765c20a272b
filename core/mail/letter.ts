import type { Mail } from './mailer.ts'
import { withoutLinks } from './without-links.ts'

/** A mail in words: paragraphs of plain text, and the one place that it leads to. Links in the words are left out. */
export interface Letter {
  subject: string
  paragraphs: readonly string[]
  action?: { label: string; url: string }
  /** Small print under it. */
  end?: string
  /** Where a POST ends such mails, without a session. (RFC 8058) */
  unsubscribeUrl?: string
}

/** The same words as plain text and as simple HTML, which loads nothing from anywhere. */
export function writeLetter(letter: Letter): Omit<Mail, 'to'> {
  const { action, end, unsubscribeUrl } = letter
  const words = {
    ...letter,
    subject: withoutLinks(letter.subject),
    paragraphs: letter.paragraphs.map(withoutLinks),
    ...(end !== undefined && { end: withoutLinks(end) }),
  }
  const text = [
    ...words.paragraphs,
    ...(action === undefined ? [] : [`${action.label}:\n${action.url}`]),
    ...(words.end === undefined ? [] : [`-- \n${words.end}`]),
    ...(unsubscribeUrl === undefined ? [] : [`${UNSUBSCRIBE}:\n${unsubscribeUrl}`]),
  ].join('\n\n')
  const headers = unsubscribeUrl === undefined ? {} : { headers: headersOf(unsubscribeUrl) }
  return { subject: words.subject, text: `${text}\n`, html: htmlOf(words), ...headers }
}

const UNSUBSCRIBE = 'End these mails'

function headersOf(url: string): Record<string, string> {
  return {
    'list-unsubscribe': `<${url}>`,
    'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
  }
}

const FONT = 'font:16px/1.5 system-ui,sans-serif;color:#222'
const BUTTON =
  'display:inline-block;padding:10px 18px;border-radius:3px;background:#0b5d52;color:#fff;text-decoration:none'

function htmlOf({ subject, paragraphs, action, end, unsubscribeUrl }: Letter): string {
  const parts = [
    ...paragraphs.map((words) => `<p>${escaped(words)}</p>`),
    ...(action === undefined
      ? []
      : [
          `<p><a style="${BUTTON}" href="${escaped(action.url)}">${escaped(action.label)}</a></p>`,
          `<p style="color:#666;font-size:13px">${escaped(action.url)}</p>`,
        ]),
    ...(end === undefined ? [] : [`<p style="color:#666;font-size:13px">${escaped(end)}</p>`]),
    ...(unsubscribeUrl === undefined
      ? []
      : [`<p style="font-size:13px"><a href="${escaped(unsubscribeUrl)}">${UNSUBSCRIBE}</a></p>`]),
  ]
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(subject)}</title></head><body style="margin:0;padding:24px;max-width:560px;${FONT}">${parts.join('')}</body></html>`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Names that people chose stand in letters: they must stay words. */
function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign)
}
