import { buildDashboard } from './build.ts'

// Builds it whether or not it is there: `npm run build:dashboard`.
await buildDashboard(process.env)
