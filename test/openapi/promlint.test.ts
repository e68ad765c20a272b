import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, inject, test } from 'vitest'
import { z } from 'zod'

import { scratch } from '../kit/servers.ts'
import { has, run } from './tools.ts'

const { dataDir } = inject('installation')
const Told = z.object({ metricsUrls: z.record(z.string(), z.url()) })
const IS_CI = process.env['CI'] !== undefined
const noGo = !IS_CI && !(await has('go', 'version'))

test.skipIf(noGo)('the linter of promtool has nothing to say of any role’s metrics', async () => {
  using directory = scratch()
  const lint = join(directory.path, 'promlint')
  await run('go', ['build', '-o', lint, '.'], { cwd: join(import.meta.dirname, 'promlint') })
  const told = Told.parse(JSON.parse(readFileSync(join(dataDir, 'standalone.json'), 'utf8')))
  for (const [role, url] of Object.entries(told.metricsUrls)) {
    const text = await (await fetch(url)).text()
    expect({ role, said: await run(lint, [], { cwd: directory.path, input: text }) }).toEqual({
      role,
      said: '',
    })
  }
})
