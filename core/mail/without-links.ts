/** Characters that turn the direction of the text behind them, or are not seen. */
const UNSEEN = /[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g

/**
 * A word that mail programs make a link of: a scheme, `www`, a name with dots whose end could be a domain's, an IPv4
 * address, or what calls or writes to somebody. An ideographic full stop is a dot in a domain. (UTS 46)
 */
const LINK =
  /:\/\/|www[.\u3002]|[^\s.\u3002][.\u3002](?:xn--|\p{L})[\p{L}\p{M}\p{N}-]|\d{1,3}(?:[.\u3002]\d{1,3}){3}|(?:https?|mailto|tel|sms):\S/iu

const MARK = '…'

/**
 * The text without the words that mail programs make links of, each replaced by `…`. Names that tenants choose stand in mails
 * to strangers: their words must lead nowhere.
 */
export function withoutLinks(text: string): string {
  return text.replaceAll(UNSEEN, '').replaceAll(/[^\s"'()<>[\]{}«»“”„]+/g, (word) => {
    // A full-width or one-dot-leader sign becomes the ASCII one, as it does for a browser.
    return LINK.test(word.normalize('NFKC')) ? MARK : word
  })
}
