import { defineConfig } from 'vitest/config'

/** For `expect.poll`: a second, as Vitest gives it, is too little beside other work. */
const PATIENT = { poll: { timeout: 20_000 } }

/**
 * unit needs no server; system starts real PostgreSQL and NATS; conformance drives `npm start` over HTTP, as the
 * specification has it; openapi makes clients from the document and uses them; faults kills and starves servers;
 * failover takes them from an installation of two of each role.
 */
export default defineConfig({
  test: {
    // The tests wait more than they work, and every worker has connections of its own.
    maxWorkers: 3,
    // Files share what their worker has loaded, which is a third of all work: of ours only the last id lives in a module.
    isolate: false,
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            '{core,api,clients,dataplane,connector-agent,operator,.ci/release,standalone,charts,dashboard,docs}/**/*.test.ts',
            'test/{floors,tidy}.test.ts',
          ],
          testTimeout: 30_000,
        },
      },
      {
        test: {
          // All that reads and writes times, where the machine's zone is none of UTC's.
          name: 'zone',
          include: [
            '{api,core,dataplane}/**/{granularity,mail-date,partitions,plans,retry,spans,subscription}*.test.ts',
            'core/{billing,delivery,pacing,plans,retention,statistics}/**/*.test.ts',
            'core/verify/{keys,verify}.test.ts',
            'core/{clock,ids,log}.test.ts',
            'test/zone/*.test.ts',
          ],
          env: { TZ: 'America/New_York' },
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'system',
          expect: PATIENT,
          include: ['test/**/*.test.ts'],
          exclude: [
            'test/{floors,tidy}.test.ts',
            'test/browser/**',
            'test/cluster/**',
            'test/conformance/**',
            'test/cluster/**',
            'test/failover/**',
            'test/faults/**',
            'test/node/**',
            'test/openapi/**',
            'test/zone/**',
          ],
          globalSetup: ['test/kit/servers.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'conformance',
          expect: PATIENT,
          include: ['test/conformance/**/*.test.ts'],
          globalSetup: ['test/conformance/installation.ts'],
          // All files share an installation and a clock, and need the whole machine.
          fileParallelism: false,
          sequence: { groupOrder: 1 },
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'openapi',
          include: ['test/openapi/**/*.test.ts'],
          globalSetup: ['test/conformance/installation.ts'],
          // The first run installs what makes the clients.
          testTimeout: 600_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          // Each test goes on where the one before it ended. (test/node/run.sh)
          name: 'node',
          include: ['test/node/**/*.test.ts'],
        },
      },
      {
        test: {
          name: 'cluster',
          expect: PATIENT,
          include: ['test/cluster/**/*.test.ts'],
          globalSetup: ['test/cluster/setup.ts'],
          fileParallelism: false,
          testTimeout: 180_000,
          // The first run builds a control plane from source.
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          // A measurement. (npm run bench:operator)
          name: 'many',
          include: ['test/cluster/many.ts'],
          globalSetup: ['test/cluster/setup.ts'],
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          name: 'browser',
          expect: PATIENT,
          include: ['test/browser/**/*.test.ts'],
          globalSetup: ['test/browser/installation.ts'],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'faults',
          expect: PATIENT,
          include: ['test/faults/**/*.test.ts'],
          globalSetup: ['test/kit/servers.ts'],
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          // Two of each role, three PostgreSQLs and three NATS servers; the scenarios share them and come in order.
          name: 'failover',
          include: ['test/failover/**/*.test.ts'],
          fileParallelism: false,
        },
      },
    ],
  },
})
