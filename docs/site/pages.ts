/** The pages of the site in the order of its sidebar: the files of docs/ without their ending. */
export const SECTIONS: readonly { label: string; pages: readonly string[] }[] = [
  { label: 'Begin', pages: ['start', 'glossary', 'architecture', 'migrating'] },
  { label: 'Receive', pages: ['providers', 'filters', 'email', 'spool'] },
  { label: 'Deliver', pages: ['receivers', 'connector', 'recover', 'event-stream'] },
  {
    label: 'People and programs',
    pages: ['dashboard', 'accounts', 'agents', 'alerts', 'api', 'clients'],
  },
  {
    label: 'Run it',
    pages: [
      'outages',
      'security',
      'metrics',
      'traces',
      'logs',
      'performance',
      'query-plans',
      'limits',
      'errors',
    ],
  },
  {
    label: 'Kubernetes',
    pages: [
      'kubernetes/install',
      'kubernetes/production',
      'kubernetes/runbook',
      'kubernetes/gitops',
      'kubernetes/conditions',
    ],
  },
  { label: 'Protocols', pages: ['tunnel', 'conformance'] },
]

export interface Page {
  title: string
  /** The text under the title, for the site. */
  body: string
}

/** A page as Markdown becomes a page of the site: its title leaves the text, its links lead to the site or the code. */
export function pageOf(text: string, place: { path: string; pages: ReadonlySet<string> }): Page {
  const [, title = place.path] = /^# (.+)$/m.exec(text) ?? []
  const body = text.replace(/^# .+\n+/m, '').replaceAll(LINK, (_, label: string, to: string) => {
    const address = addressOf(to, place)
    return address === undefined ? label : `[${label}](${address})`
  })
  return { title, body }
}

const LINK = /(?<!!)\[([^\]]+)\]\(([^)\s]+)\)/g

/** Undefined for a file that the site does not have: the words of the link stay. */
function addressOf(
  to: string,
  { path, pages }: { path: string; pages: ReadonlySet<string> },
): string | undefined {
  if (/^[a-z]+:/.test(to)) return to
  if (to.startsWith('#')) return to
  const { pathname, hash } = new URL(to, `file:///docs/${path}`)
  const page = pathname.replace(/^\/docs\//, '').replace(/\.md$/, '')
  if (pathname.startsWith('/docs/') && pathname.endsWith('.md') && pages.has(page)) {
    return `/docs/${page}${hash}`
  }
  return to.startsWith('/docs/') ? to : undefined
}
