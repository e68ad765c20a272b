/** A type with its parameters. (RFC 9110, section 8.3.1) */
const TOKEN = String.raw`[!#$%&'*+\-.^_\x60|~\w]+`
const MEDIA_TYPE = new RegExp(
  String.raw`^${TOKEN}/${TOKEN}(?:[ \t]*;[ \t]*${TOKEN}=(?:${TOKEN}|"[ !#-[\]-~]*"))*$`,
)
const CHARSET = /;[ \t]*charset="?(?<name>[^";]+)/i

/** The fault of a media type for text sent in UTF-8; undefined when there is none. */
export function textTypeFault(type: string): string | undefined {
  if (!MEDIA_TYPE.test(type)) return 'Expected a media type'
  const charset = CHARSET.exec(type)?.groups?.['name'] ?? 'utf-8'
  return /^(?:utf-?8|us-ascii)$/i.test(charset)
    ? undefined
    : 'Expected no charset but utf-8: the body is sent in it'
}
