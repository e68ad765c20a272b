import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

import { expect, test } from 'vitest'

import { circles, imports, programOf, ROOT, sources } from './kit/source-files.ts'

/**
 * The rooms of a program, from the ground up. A room is a folder without its subfolders, or a file that is listed by
 * itself. A file may import its own room and every lower row, no other room of its row. The tables.ts of all folders are
 * one room, core/db/tables.
 */
const FLOORS: readonly (readonly string[])[][] = [
  [
    [
      'core',
      'core/db/migrations',
      'core/db/tables',
      'core/keys',
      'core/log.ts',
      'core/metrics',
      'core/pacing',
      'core/statistics',
      'core/this-machine',
      'core/tunnel',
      'core/urls',
      'core/verify/config',
    ],
    ['core/db/hosts'],
    [
      'core/accounts',
      'core/alerts',
      'core/db/connection',
      'core/delivery',
      'core/egress',
      'core/loop',
      'core/mail',
      'core/nats.ts',
      'core/request',
      'core/verdict',
      'core/verify/presets',
    ],
    [
      'core/db/accounts',
      'core/db/deliveries/upkeep',
      'core/db/lists',
      'core/db/processes',
      'core/db/requests',
      'core/delivery/direct',
      'core/http',
      'core/match',
      'core/verify/request',
    ],
    [
      'core/db/connectors',
      'core/db/events',
      'core/db/operations',
      'core/db/retention',
      'core/db/statistics',
      'core/notices',
      'core/secrets',
      'core/verify/schemes',
    ],
    ['core/db/configuration', 'core/db/deliveries/read', 'core/settings', 'core/verify'],
    [
      'core/db/alerts',
      'core/db/deliveries/act',
      'core/plans',
      'core/tracing',
      'core/verify/sample',
    ],
    ['core/actions', 'core/config.ts', 'core/db/billing', 'core/db/deliveries/work'],
    [
      'core/billing',
      'core/db/alerts/signals',
      'core/db/events/ingest',
      'core/settings/setting-names.ts',
    ],
    ['core/db/moving'],
    ['core/moving', 'core/retention', 'core/start-up.ts'],
    ['core/db', 'core/jetstream', 'core/ops.ts'],
    ['core/await-services.ts'],
  ],
  [
    [
      'dataplane/ingest/budgets',
      'dataplane/ingest/email/charsets',
      'dataplane/ingest/email/message/address',
      'dataplane/ingest/trace',
    ],
    [
      'dataplane/ingest/accept',
      'dataplane/ingest/email/message/sender',
      'dataplane/ingest/email/mime',
    ],
    ['dataplane/ingest/email/message', 'dataplane/ingest/http', 'dataplane/ingest/spool'],
    ['dataplane/ingest/email'],
    ['dataplane/ingest'],
  ],
  [
    ['dataplane/worker/in-flight'],
    ['dataplane/worker/own', 'dataplane/worker/record'],
    ['dataplane/worker/send'],
    ['dataplane/worker/pacing'],
    ['dataplane/worker/lanes'],
    ['dataplane/worker/take'],
    ['dataplane/worker'],
  ],
  [
    [
      'dataplane/housekeeper/alerts',
      'dataplane/housekeeper/operations',
      'dataplane/housekeeper/sweep',
      'dataplane/housekeeper/tasks',
    ],
    ['dataplane/housekeeper'],
  ],
  [
    ['api/answers', 'api/auth', 'api/http/fixed.ts', 'api/migrate', 'api/openapi/json.ts'],
    [
      'api/dashboard',
      'api/large-answers.ts',
      'api/mail',
      'api/openapi/code',
      'api/shared-reads.ts',
      'api/sign-on',
      'api/site',
    ],
    ['api/deps.ts'],
    ['api/front', 'api/http'],
    ['api/billing', 'api/openapi', 'api/sessions', 'api/statistics', 'api/writes'],
    [
      'api/connections',
      'api/connectors',
      'api/deliveries',
      'api/docs',
      'api/http/mount.ts',
      'api/projects',
      'api/sources',
    ],
    ['api/destinations', 'api/events', 'api/sources/sample'],
    ['api/alerts', 'api/events/live', 'api/operations'],
    ['api/routes.ts'],
    ['api/accounts/account-route.ts', 'api/accounts/people'],
    ['api/capabilities/secrets'],
    ['api/accounts/organisations', 'api/capabilities'],
    ['api/accounts/keys', 'api/accounts/sign-in', 'api/agents'],
    ['api/accounts/provider'],
    ['api/accounts'],
    ['api/admin', 'api/app.ts'],
    ['api/admin/commands'],
    ['api/admin/commands.ts'],
    ['api/admin/main.ts'],
    ['api/main.ts'],
  ],
]

/** A folder that has more files than this is two subjects. */
const FOLDER_MAX = 12
const PROGRAM_ROOT_MAX = 6

/** Programs, without the rules that they share. */
const PROGRAMS = [
  'api',
  'dataplane/ingest',
  'dataplane/worker',
  'dataplane/housekeeper',
  'dataplane/gateway',
]

/** Names that say which part of its folder a file is. */
const REPEATED = new Set([
  'index.ts',
  'main.ts',
  'tables.ts',
  'change.ts',
  'resource.ts',
  'routes.ts',
  'shape.ts',
  'upsert.ts',
])

const shipped = sources.filter((file) => !isTest(file) && !/^(test|bench)\//.test(file))

test.for(FLOORS.map((floors) => [programOf(floors[0]?.[0] ?? ''), floors] as const))(
  'an import in %s goes down from room to room',
  ([program, floors]) => {
    const floorOf = new Map(floors.flatMap((rooms, floor) => rooms.map((room) => [room, floor])))
    const roomOf = (file: string): string => {
      if (floorOf.has(file)) return file
      const isTable = file === 'core/db/columns.ts' || /^core\/db\/.*tables\.ts$/.test(file)
      return isTable ? 'core/db/tables' : dirname(file)
    }
    const own = shipped.filter((file) => file.startsWith(`${program}/`))
    expect(own.map(roomOf).filter((room) => !floorOf.has(room))).toEqual([])

    const kept = new Set(own)
    const bad = imports()
      .filter(({ from, to }) => kept.has(from) && kept.has(to) && roomOf(from) !== roomOf(to))
      .filter(({ from, to }) => (floorOf.get(roomOf(from)) ?? 0) <= (floorOf.get(roomOf(to)) ?? 0))
      .map(({ from, to }) => `${from} imports ${to}`)
    expect(bad).toEqual([])
  },
)

test('no files import each other in a circle', () => {
  expect(circles(imports())).toEqual([])
  const edges = [
    { from: 'a', to: 'b' },
    { from: 'b', to: 'c' },
    { from: 'c', to: 'a' },
    { from: 'c', to: 'd' },
    { from: 'e', to: 'e' },
  ]
  expect(circles(edges)).toEqual([['a', 'b', 'c'], ['e']])
})

/** Programs whose folders have no floors. */
const WITHOUT_FLOORS = [
  'clients',
  'connector-agent',
  'dashboard',
  'dataplane/gateway',
  'standalone',
]

test.for(WITHOUT_FLOORS)('no folders of %s import each other in a circle', (program) => {
  const own = new Set(shipped.filter((file) => file.startsWith(`${program}/`)))
  const edges = imports()
    .filter(({ from, to }) => own.has(from) && own.has(to) && dirname(from) !== dirname(to))
    .map(({ from, to }) => ({ from: dirname(from), to: dirname(to) }))
  expect(circles(edges)).toEqual([])
})

test('a file that ships is imported by a file that ships', () => {
  const shippedFiles = new Set(shipped)
  const importers = Map.groupBy(imports(), ({ to }) => to)
  const bad = shipped.filter((file) => {
    const own = importers.get(file) ?? []
    return own.length > 0 && !own.some(({ from }) => shippedFiles.has(from))
  })
  expect(bad).toEqual([])
})

test('nothing that operator and connector-agent import leads to the database', () => {
  const next = Map.groupBy(imports(), ({ from }) => from)
  const reached = new Set(
    shipped.filter((file) => ['operator', 'connector-agent'].includes(programOf(file))),
  )
  const own = reached.size
  for (const file of reached) for (const { to } of next.get(file) ?? []) reached.add(to)
  expect([...reached].filter((file) => file.startsWith('core/db/'))).toEqual([])
  expect(reached.size).toBeGreaterThan(own)
})

test('a folder has at most 12 files, and the root of a program 6', () => {
  const folders = Map.groupBy(
    shipped.filter((file) => !file.startsWith('core/db/migrations/')),
    (file) => dirname(file),
  )
  const bad = [...folders].filter(([folder, files]) => {
    const max = PROGRAMS.includes(folder) ? PROGRAM_ROOT_MAX : FOLDER_MAX
    return files.length > max
  })
  expect(bad.map(([folder, files]) => `${folder} has ${files.length} files`)).toEqual([])
})

test('no two files of core, or of one program, have the same name', () => {
  const named = shipped.filter(
    (file) => /^(core|api|dataplane)\//.test(file) && !REPEATED.has(basename(file)),
  )
  // The tools of an operator are programs of their own.
  const home = (file: string): string =>
    file.startsWith('api/admin/') ? 'api/admin' : programOf(file)
  const alike = Map.groupBy(named, (file) => `${home(file)} ${basename(file)}`)
  expect([...alike.values()].filter((files) => files.length > 1)).toEqual([])
})

test('a fixture is imported by tests alone', () => {
  const fixtures = imports().filter(({ to }) => to.endsWith('.fixture.ts'))
  expect(fixtures.length).toBeGreaterThan(0)
  const shippedFiles = new Set(shipped)
  expect(fixtures.filter(({ from }) => shippedFiles.has(from))).toEqual([])
  const forTests = shipped.filter((file) =>
    readFileSync(join(ROOT, file), 'utf8').includes('/** For tests'),
  )
  expect(forTests).toEqual([])
})

function isTest(file: string): boolean {
  return /\.(test|fixture)\.tsx?$/.test(file)
}
