import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

import { expect, test } from 'vitest'

import { AGENT_FLAGS, AGENT_SETTING_NAMES } from '../connector-agent/settings/settings.ts'
import { SETTING_NAMES } from '../core/config.ts'
import { STATUS } from '../core/errors.ts'
import * as limits from '../core/limits.ts'
import { BUILT_IN_PLANS } from '../core/plans/built-in-plans.ts'
import { TRACE_SETTING_NAMES } from '../core/settings/trace-settings.ts'
import { files, imports, programOf, ROOT, sources, specifiersIn } from './kit/source-files.ts'

const ALL = [
  'core',
  'api',
  'clients',
  'dataplane',
  'dataplane/ingest',
  'dataplane/worker',
  'dataplane/gateway',
  'dataplane/housekeeper',
  'standalone',
  'connector-agent',
  'operator',
  'dashboard',
  'docs',
  'test',
]

/** Folders that a folder may import besides itself. A program that is not listed here may import core; one of the data plane
 * also the files that lie beside the programs there. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  core: [],
  clients: [],
  dashboard: ['clients'],
  operator: ['core', 'clients'],
  'connector-agent': ['core', 'clients'],
  docs: ['core', 'api'],
  standalone: ALL,
  test: ALL,
  bench: ALL,
}
/** Rules without I/O that the server and the dashboard must judge by alike. */
const SHARED_WITH_DASHBOARD = ['core/accounts/own-page.ts']
const WITHOUT_DATABASE = ['operator', 'connector-agent']
const KNOWS_SQL = ['core/db/', 'test/', 'bench/']

/** Places where a sentence of a comment or a text begins, where one of a document does, and a test title. */
const TEXT_START = String.raw`^\s*(?://|\*|/\*\*?)\s*|//\s+|/\*\*?\s+|[.:!?]\s+|["'\`(] ?`
const MARKDOWN_START = String.raw`^\s*|[.:!?] |\| |[-*] |[#>] |[("*_]`
const TITLE_START = String.raw`(?:\b(?:describe|test|it)(?:\.\w+)?|\))\(\s*['"\`]`

test('every import stays inside the folders its own folder may use', () => {
  const bad = imports()
    .filter(({ from, to }) => {
      const home = programOf(from)
      const shared = home.startsWith('dataplane/') ? ['core', 'dataplane'] : ['core']
      const allowed = MAY_IMPORT[home] ?? shared
      if (home === 'dashboard' && SHARED_WITH_DASHBOARD.includes(to)) return false
      return programOf(to) !== home && !allowed.includes(programOf(to))
    })
    .map(({ from, to }) => `${from} imports ${to}`)
  expect(bad).toEqual([])
})

test('operator and connector-agent never touch the database', () => {
  const bad = imports()
    .filter(
      ({ from, to }) => WITHOUT_DATABASE.includes(programOf(from)) && to.startsWith('core/db/'),
    )
    .map(({ from, to }) => `${from} imports ${to}`)
  expect(bad).toEqual([])
})

test('nothing that the agent or the operator imports leads to the database or NATS', () => {
  const next = new Map<string, string[]>()
  for (const { from, to } of imports()) next.set(from, [...(next.get(from) ?? []), to])
  const programs = sources.filter(
    (file) => WITHOUT_DATABASE.includes(programOf(file)) && !file.endsWith('.test.ts'),
  )
  const reached = new Set(programs)
  for (const file of reached) for (const to of next.get(file) ?? []) reached.add(to)
  expect(
    [...reached].filter((file) =>
      /^(?:core\/(?:db|jetstream)\/|core\/nats\.ts|kysely|pg|@nats-io)/.test(file),
    ),
  ).toEqual([])
  expect(reached.size).toBeGreaterThan(programs.length)
})

test('kysely and pg are imported under core/db only', () => {
  const bad = sources.filter(
    (file) =>
      !KNOWS_SQL.some((folder) => file.startsWith(folder)) &&
      specifiersIn(file).some((name) => /^(kysely|pg)(\/|$)/.test(name)),
  )
  expect(bad).toEqual([])
})

test('the default of a setting stands in core/config.ts alone', () => {
  // The supervisor in standalone/ chooses settings for the roles that it starts; a tool's own file is no program.
  const isFree = /^(test|bench|standalone)\/|\.test\.ts$|^core\/config\.ts$|\/vite\.config\.ts$/
  const bad = sources
    .filter((file) => !isFree.test(file))
    .flatMap((file) => defaultsIn(file, readFileSync(join(ROOT, file), 'utf8')))
  expect(bad).toEqual([])
})

test('a second default of a setting is found, however its setting is read', () => {
  const found = [
    'config.INGEST_URL ?? `http://localhost:${config.INGEST_PORT}`',
    "INGEST_URL ?? 'http://localhost'",
    "Number(process.env['API_PORT'] || 8080)",
    'const { API_PORT = 8080 } = config',
    "config.KEY_PREFIX === undefined ? 'pst' : config.KEY_PREFIX",
  ].filter((text) => defaultsIn('a', text).length === 0)
  expect(found).toEqual([])
  expect(defaultsIn('a', 'openEgress(config.DELIVERY_ALLOW_CIDRS)')).toEqual([])
})

const OWN_NAMES = (names: readonly string[]) =>
  names.filter((name) => !TRACE_SETTING_NAMES.includes(name))

test('the README documents every setting and no other, and names the one that turns traces on', () => {
  const documented = constants('README.md').map((row) => row.split(' = ')[0] ?? '')
  const expected = [...OWN_NAMES(SETTING_NAMES), 'OTEL_EXPORTER_OTLP_ENDPOINT']
  expect(documented.toSorted()).toEqual(expected.toSorted())
})

test('docs/traces.md documents every setting of traces and no other', () => {
  const documented = rows('docs/traces.md').flatMap(([names = '']) =>
    [...names.matchAll(/\bOTEL_[A-Z_]+/g)].map(([name]) => name),
  )
  expect(documented.toSorted()).toEqual(TRACE_SETTING_NAMES.toSorted())
})

test('docs/connector.md documents every setting of the agent that concerns no traces, and no other', () => {
  const documented = constants('docs/connector.md').map((row) => row.split(' = ')[0] ?? '')
  expect(documented.toSorted()).toEqual(OWN_NAMES(AGENT_SETTING_NAMES).toSorted())
  const flags = [
    ...readFileSync(join(ROOT, 'docs/connector.md'), 'utf8').matchAll(/^\| [A-Z_]+ .*$/gm),
  ]
    .flatMap(([row]) => [...row.matchAll(/`--([a-z-]+)`/g)].map(([, flag]) => flag))
    .filter((flag) => flag !== undefined)
  expect(flags).toEqual(expect.arrayContaining(Object.keys(AGENT_FLAGS)))
})

test('docs/errors.md documents every error code with its status and no other', () => {
  const expected = Object.entries(STATUS).map(([code, status]) => `${code} = ${status}`)
  expect(constants('docs/errors.md').toSorted()).toEqual(expected.toSorted())
})

test('docs/limits.md lists every number of core/limits.ts with its value and no other', () => {
  const expected = Object.entries(limits)
    .map(([name, value]): [string, unknown[]] => [name, [value].flat()])
    .filter(([, values]) => values.every((value) => typeof value === 'number'))
    .map(([name, values]) => `${name} = ${values.map(shown).join(', ')}`)
  expect(constants('docs/limits.md').toSorted()).toEqual(expected.toSorted())
})

test('docs/limits.md has the numbers of each built-in plan', () => {
  const text = (value: number | null) => (value === null ? 'no limit' : shown(value))
  const expected = Object.entries(BUILT_IN_PLANS).map(([name, plan]) => [
    name,
    text(plan.ingestRequestsPerSecond),
    [...new Set([plan.maxDeliveriesPerSecond, plan.burstDeliveriesPerSecond].map(text))].join(', '),
    text(plan.deliveryQuota) +
      (plan.deliveryQuota === null ? '' : plan.isHardCapped ? ', then refused' : ', then counted'),
    `${plan.retentionDays} days`,
    text(plan.seats),
    text(plan.connectors),
    text(plan.replicasPerConnector),
  ])
  const found = rows('docs/limits.md').filter(([name = '']) => name in BUILT_IN_PLANS)
  expect(found).toEqual(expected)
})

test('migrations are numbered without gaps', () => {
  const numbers = files
    .filter((file) => file.startsWith('core/db/migrations/') && basename(file) !== 'index.ts')
    .map((file) => /^(\d{4})-[a-z0-9-]+\.ts$/.exec(basename(file))?.[1] ?? file)
  expect(numbers.length).toBeGreaterThan(0)
  expect(numbers.toSorted()).toEqual(numbers.map((_, index) => String(index + 1).padStart(4, '0')))
})

test('files are named for what they hold', () => {
  const banned =
    /^(utils?|helpers?|common|types|interfaces|constants|services?|managers?)(\.test)?\.ts$/
  expect(sources.filter((file) => banned.test(basename(file)))).toEqual([])
})

test('no file puts work off or names a place of one machine', () => {
  const later = new RegExp(
    String.raw`\b(${['TO', 'FIX'].map((w, i) => w + ['DO', 'ME'][i]).join('|')})\b`,
  )
  const place = /(?<![\w.])\/(?:home|root|Users|work)\/[\w.]/
  const bad = files.filter((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    return later.test(text) || place.test(text)
  })
  expect(bad).toEqual([])
})

test('no sentence of a comment, text, document or test title begins with What, One, Those or Of', () => {
  const bad = files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    if (file.endsWith('.md')) return sentences(file, withoutQuotes(text), MARKDOWN_START)
    if (!/\.tsx?$/.test(file)) return []
    return [...sentences(file, text, TEXT_START), ...sentences(file, text, TITLE_START)]
  })
  expect(bad).toEqual([])
})

test('the rule of sentences finds comments, texts, titles and Markdown, and leaves code and quotes alone', () => {
  const [what, one, those, of] = ['What', 'One', 'Those', 'Of']
  const found = (text: string, start: string) => sentences('a', text, start).length
  expect(found(`/** ${what} it is. */`, TEXT_START)).toBe(1)
  expect(found(` * It goes. ${those} stay.`, TEXT_START)).toBe(1)
  expect(found(`describe('${one} of them')`, TEXT_START)).toBe(1)
  expect(found(`test.each(ROWS)(\n  '${one.toLowerCase()} is sent')`, TITLE_START)).toBe(1)
  expect(found('const One = 1 // Only one of them.', TEXT_START)).toBe(0)
  expect(found(`| ${of} these |`, MARKDOWN_START)).toBe(1)
  expect(found(withoutQuotes(`\`${what} it is\` and "${one} of them"`), MARKDOWN_START)).toBe(0)
})

test('the files under test are really found', () => {
  expect(sources).toEqual(expect.arrayContaining(['core/config.ts', 'standalone/main.ts']))
  expect(imports()).toContainEqual({ from: 'standalone/main.ts', to: 'core/config.ts' })
})

/** Places where a text says what a setting is when nobody has set it. */
function defaultsIn(file: string, text: string): string[] {
  const names = `(?:${SETTING_NAMES.join('|')})`
  const place = String.raw`\b${names}'?\]?\s*(?:\?\?|\|\|)(?!=)|\b${names} = (?=[^;\n]*\} = )|\b${names} === undefined \?`
  return [...text.matchAll(new RegExp(place, 'g'))].map(([found]) => `${file}: ${found}`)
}

/** `file:line: text` of each sentence that begins so, behind a start such as a full stop or a quote. */
function sentences(file: string, text: string, start: string): string[] {
  const word = start === TITLE_START ? 'what|one|those|of' : 'What|One|Those|Of'
  return [...text.matchAll(new RegExp(`(?:${start})(?:${word}) \\S+`, 'gm'))].map((found) => {
    const line = text.slice(0, found.index).split('\n').length
    return `${file}:${line}: ${found[0].trim()}`
  })
}

/** Markdown without code and without quoted text. */
function withoutQuotes(text: string): string {
  return text.replaceAll(/^```[^]*?^```|`[^`\n]*`|"[^"\n]*"/gm, '')
}

/** The cells of every row of the Markdown tables, without code marks. */
function rows(file: string): string[][] {
  const path = join(ROOT, file)
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []
  return lines
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll('`', '')),
    )
}

/** `NAME = value` for each row that names a constant. */
function constants(file: string): string[] {
  return rows(file)
    .filter(([name]) => /^[A-Z][A-Z0-9_]+$/.test(name ?? ''))
    .map(([name, value]) => `${name} = ${value}`)
}

/** As the table writes it: 1,048,576. */
function shown(value: unknown): string {
  return Number(value).toLocaleString('en-US')
}
