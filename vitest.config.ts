import { defineConfig } from 'vitest/config'

/** unit needs no server; system starts real PostgreSQL and NATS; faults kills and starves them. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{core,api,dataplane,standalone}/**/*.test.ts', 'test/tidy.test.ts'],
        },
      },
      {
        test: {
          name: 'system',
          include: ['test/**/*.test.ts'],
          exclude: ['test/tidy.test.ts', 'test/faults/**'],
          globalSetup: ['test/servers.ts'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          globalSetup: ['test/servers.ts'],
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
