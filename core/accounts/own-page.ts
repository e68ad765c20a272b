/** Longest path that is taken, in characters. Ours: a page of the dashboard with its filters is far shorter. */
const LENGTH_MAX = 1_000

/** Any origin that no text names: a page is compared with it. */
const ORIGIN = 'https://own-page.invalid'

/**
 * The path, query and fragment of a page of this origin that a text from outside names, as browsers read it; undefined when
 * it could lead elsewhere. Browsers strip tabs and line ends, take `\` for `/` and resolve `.` and `..`, encoded ones
 * included, so that a path can come out that begins with `//` and names a host. (WHATWG URL, basic URL parser)
 */
export function ownPage(text: string): string | undefined {
  if (!text.startsWith('/') || text.length > LENGTH_MAX || /[\p{Cc}\\]/u.test(text))
    return undefined
  const parsed = URL.parse(text, ORIGIN)
  if (parsed === null || parsed.origin !== ORIGIN) return undefined
  const page = `${parsed.pathname}${parsed.search}${parsed.hash}`
  // The reader of the page parses it again.
  const isSame = page.length <= LENGTH_MAX && URL.parse(page, ORIGIN)?.href === parsed.href
  return isSame ? page : undefined
}
