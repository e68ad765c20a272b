/** A meta element stands near the beginning: browsers look as far as 1,024 bytes, mail programs write longer heads. */
const LOOKED_AT = 4_096

const META = /<meta\s[^>]*?\bcharset\s*=\s*["']?\s*([^\s"'/>;]+)/i

/** The charset that a meta element of an HTML text names, as it is written. */
export function metaCharset(bytes: Buffer): string | undefined {
  return META.exec(bytes.toString('latin1', 0, LOOKED_AT))?.[1]
}
