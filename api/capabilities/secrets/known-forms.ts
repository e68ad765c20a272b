/** Secrets that are known by their form: our own, of well-known providers, and of well-known schemes. */
export const KNOWN_FORMS: readonly RegExp[] = [
  /\b[a-z][a-z0-9]{0,15}_(?:sk|ag|enr|hb)_[0-9A-Za-z]{43}\b/g,
  /\bwhsec_[\w+/=-]{8,}/g,
  // Stripe, and the many that follow it
  /\b(?:sk|rk)_(?:live|test)_[0-9A-Za-z]{8,}/g,
  // OpenAI, Anthropic
  /\bsk-[\w-]{20,}/g,
  // GitHub, GitLab
  /\bgh[pousr]_[0-9A-Za-z]{20,}/g,
  /\bgithub_pat_\w{20,}/g,
  /\bgl(?:pat|ptt|soat|rt|dt|cbt)-[\w-]{20,}/g,
  // Slack, Discord, Teams: the URL alone allows to post
  /\bxox[a-z]-[\w-]{8,}/g,
  /\bxapp-[\w-]{8,}/g,
  /(?<=\bhooks\.slack\.com\/(?:services|workflows|triggers)\/)[\w/-]+/g,
  /(?<=\bdiscord(?:app)?\.com\/api\/webhooks\/)[\w/-]+/g,
  /(?<=\b(?:outlook\.office|[\w-]{1,60}\.webhook\.office)\.com\/)[\w/@-]+/g,
  // Amazon, Google
  /\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b/g,
  /\bAIza[\w-]{35}/g,
  /\bya29\.[\w-]{20,}/g,
  /\bGOCSPX-[\w-]{20,}/g,
  // SendGrid, Mailgun, Shopify, Square, npm, DigitalOcean, Hugging Face, Telegram, Twilio
  /\bSG\.[\w-]{16,}\.[\w-]{16,}/g,
  /\bkey-[0-9a-f]{32}\b/g,
  /\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b/g,
  /\bsq0[a-z]{3}-[\w-]{22,}/g,
  /\bnpm_[0-9A-Za-z]{36}\b/g,
  /\bdo[opr]_v1_[0-9a-f]{64}\b/g,
  /\bhf_[0-9A-Za-z]{30,}/g,
  /\b\d{8,10}:[\w-]{35}\b/g,
  /\bSK[0-9a-f]{32}\b/g,
  // JWT, HTTP, PEM
  /\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)*/g,
  /(?<=\b(?:bearer|basic)\s)[\w.~+/=-]{8,}/gi,
  /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]*(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?/g,
  // user and password of a URL
  /(?<=\b[a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/?#@"'<>]+(?=@)/gi,
]
