/** A page by its file in docs/ without the ending, or pages behind a heading that opens. */
type Entry = string | { label: string; pages: readonly string[] }

/** The page that the site has and docs/ has not: the settings, which stand in the README. */
export const SETTINGS = 'settings'

/** The sidebar: the pages of the site in their order. */
export const SIDEBAR: readonly { label: string; entries: readonly Entry[] }[] = [
  { label: 'Start', entries: ['start', 'concepts', 'glossary', 'migrating'] },
  {
    label: 'Sources',
    entries: [
      'providers',
      {
        label: 'Provider by provider',
        pages: [
          'providers/stripe',
          'providers/github',
          'providers/shopify',
          'providers/slack',
          'providers/twilio',
          'providers/adyen',
          'providers/aws-sns',
          'providers/discord',
          'providers/gitlab',
          'providers/hubspot',
          'providers/intercom',
          'providers/linear',
          'providers/mailgun',
          'providers/meta',
          'providers/paddle',
          'providers/paypal',
          'providers/sendgrid',
          'providers/square',
          'providers/standard-webhooks',
          'providers/zendesk',
        ],
      },
      'providers/own-scheme',
      'email',
    ],
  },
  {
    label: 'Deliveries',
    entries: ['receivers', 'filters', 'delivery', 'recover', 'connector', 'event-stream'],
  },
  {
    label: 'People and programs',
    entries: ['dashboard', 'accounts', 'agents', 'alerts', 'api', 'clients', 'errors'],
  },
  {
    label: 'Run it',
    entries: [
      'production',
      'compose',
      SETTINGS,
      'security',
      'backup',
      'moving',
      'outages',
      'spool',
      'metrics',
      'logs',
      'traces',
      'performance',
      'benchmark',
      'query-plans',
      'limits',
    ],
  },
  {
    label: 'Kubernetes',
    entries: [
      'kubernetes/install',
      'kubernetes/production',
      'kubernetes/runbook',
      'kubernetes/gitops',
      'kubernetes/conditions',
      'kubernetes/rights',
    ],
  },
  { label: 'How it works', entries: ['architecture', 'tunnel', 'conformance', 'release'] },
]

export const PAGES: readonly string[] = SIDEBAR.flatMap(({ entries }) => entries.flatMap(pagesOf))

export function pagesOf(entry: Entry): readonly string[] {
  return typeof entry === 'string' ? [entry] : entry.pages
}

export interface Page {
  title: string
  /** The text under the title, for the site. */
  body: string
}

/** A page as Markdown becomes a page of the site: its title leaves the text, its links lead to the site or the code. */
export function pageOf(text: string, place: { path: string; pages: ReadonlySet<string> }): Page {
  const [, title = place.path] = /^# (.+)$/m.exec(text) ?? []
  const body = text
    .replace(/^# .+\n+/m, '')
    .replaceAll(PICTURE, '![$1](/docs/$2)')
    .replaceAll(LINK, (_, label: string, to: string) => {
      const address = addressOf(to, place)
      return address === undefined ? label : `[${label}](${address})`
    })
  return { title, body }
}

const PICTURE = /!\[([^\]]*)\]\(([\w.-]+)\)/g
const LINK = /(?<!!)\[([^\]]+)\]\(([^)\s]+)\)/g

/** Undefined for a file that the site does not have: the words of the link stay. */
function addressOf(
  to: string,
  { path, pages }: { path: string; pages: ReadonlySet<string> },
): string | undefined {
  if (/^[a-z]+:/.test(to)) return to
  if (to.startsWith('#')) return to
  const { pathname, hash } = new URL(to, `file:///docs/${path}`)
  if (`${pathname}${hash}` === '/README.md#settings') return `/docs/${SETTINGS}`
  const page = pathname.replace(/^\/docs\//, '').replace(/\.md$/, '')
  if (pathname.startsWith('/docs/') && pathname.endsWith('.md') && pages.has(page)) {
    return `/docs/${page}${hash}`
  }
  return to.startsWith('/docs/') ? to : undefined
}

/** The page of the settings: their section of the README, whose links begin at the root. */
export function settingsPage(readme: string): string {
  const [, section] = /\n### Settings\n\n(.*?)(?=\n## )/s.exec(readme) ?? []
  if (section === undefined) throw new Error('README.md has no section Settings')
  const text = section.replaceAll('](docs/', '](').replaceAll('\n### ', '\n## ')
  return `# Settings\n\n${text.trim()}\n`
}
