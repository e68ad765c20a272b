import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { startRelay } from '../faults/relay.ts'
import { SURROUNDINGS } from '../kit/program.ts'
import { scratch } from '../kit/servers.ts'
import { openBrowser } from './browser.ts'
import { visitAsOwner } from './people.ts'
import { Told } from './told.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PICTURE = join(ROOT, 'docs', 'dashboard.png')

/** The picture of the README: the event that `npm run demo` is about, failed once and then delivered. */
using directory = scratch()
const DATA_DIR = join(directory.path, 'relay')
await using relay = await startRelay({ DATA_DIR })
const told = Told.parse(JSON.parse(readFileSync(join(relay.dataDir, 'standalone.json'), 'utf8')))
const env = { ...SURROUNDINGS, DATA_DIR }
const demo = spawn(process.execPath, ['standalone/demo.ts'], { cwd: ROOT, env })
const isOver = once(demo, 'close')
const browser = await openBrowser()
try {
  const event = await sendOf(demo)
  await using visit = await visitAsOwner(browser, told, { viewport: { width: 1200, height: 820 } })
  const { page } = visit
  await page.goto(`${told.apiUrl}/p/${told.projectId}/events/${event}`)
  await page.getByText(/^Delivered to/).waitFor()
  await page.getByRole('button', { name: /^Attempt 1, first/ }).waitFor()
  await page.screenshot({ path: PICTURE })
} finally {
  await browser.close()
  demo.kill('SIGINT')
  await isOver
}

/** Runs the first command that the demo prints, as a reader would, and answers with the id of its event. */
async function sendOf({ stdout }: typeof demo): Promise<string> {
  let printed = ''
  // The demo ends when nobody reads what it prints.
  for await (const chunk of stdout.iterator({ destroyOnReturn: false })) {
    printed += String(chunk)
    const command = /^ {2}(EVENT=.*)$/m.exec(printed)?.[1]
    if (command === undefined || !printed.includes('Ctrl-C ends')) continue
    stdout.resume()
    const { stdout: id } = await promisify(execFile)('sh', ['-c', command])
    return id.trim()
  }
  throw new Error(`The demo printed no command: ${printed}`)
}
