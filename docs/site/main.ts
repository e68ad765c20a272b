import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

import { openApiDocument } from '../../api/openapi/document.ts'
import { ROUTES } from '../../api/routes.ts'
import { pageOf, PAGES, pagesOf, SETTINGS, settingsPage, SIDEBAR } from './pages.ts'

/**
 * `npm run build:docs`: makes docs/site/dist of docs/*.md and the OpenAPI document. Each page is there as Markdown too, and
 * /docs/llms.txt lists them for programs. Its packages are installed by `npm ci` in docs/site.
 */
const HERE = import.meta.dirname
const DOCS = join(HERE, '..')
const CONTENT = join(HERE, 'src/content/docs')
const PUBLIC = join(HERE, 'public')

rmSync(CONTENT, { recursive: true, force: true })
rmSync(PUBLIC, { recursive: true, force: true })
const readme = readFileSync(join(DOCS, '../README.md'), 'utf8')
const titles = new Map<string, string>()
for (const path of PAGES) {
  const text =
    path === SETTINGS ? settingsPage(readme) : readFileSync(join(DOCS, `${path}.md`), 'utf8')
  const { title, body } = pageOf(text, { path, pages: new Set(PAGES) })
  write(join(CONTENT, `${path}.md`), `---\ntitle: ${JSON.stringify(title)}\n---\n\n${body}`)
  write(join(PUBLIC, `${path}.md`), text)
  titles.set(path, title)
}
const index = PAGES.map((path) => `- [${titles.get(path)}](/docs/${path}.md)`)
const [, about = ''] = /^# Postern\n\n(.*?)\n\n/s.exec(readme) ?? []
write(join(CONTENT, 'index.md'), `---\ntitle: Postern\n---\n\n${about}\n\n${contents()}`)
write(join(PUBLIC, 'llms.txt'), `# Postern\n\n${about}\n\n${index.join('\n')}\n`)
for (const picture of ['dashboard.png', 'concepts.svg']) {
  cpSync(join(DOCS, picture), join(PUBLIC, picture))
}
write(join(HERE, 'openapi.json'), JSON.stringify(openApiDocument(ROUTES)))

const astro = join(HERE, 'node_modules/astro/bin/astro.mjs')
const env = { ...process.env, ASTRO_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' }
const { status } = spawnSync(process.execPath, [astro, 'build'], {
  cwd: HERE,
  env,
  stdio: 'inherit',
})
if (status !== 0) process.exit(1)
letKeysScroll(join(HERE, 'dist'))
hashScripts(join(HERE, 'dist'))
compress(join(HERE, 'dist'))

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

function contents(): string {
  return SIDEBAR.map(({ label, entries }) => {
    const links = entries
      .flatMap((entry) => pagesOf(entry))
      .map((page) => `- [${titles.get(page)}](/docs/${page})`)
    return `## ${label}\n\n${links.join('\n')}`
  }).join('\n\n')
}

/** Tables and code are wider than a telephone: whoever has no mouse scrolls them with the keys. */
function letKeysScroll(directory: string): void {
  for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.html')) continue
    const page = readFileSync(join(directory, name), 'utf8')
    const scrollable = page
      .replaceAll('<table>', '<table tabindex="0">')
      .replaceAll('<pre data-language', '<pre tabindex="0" data-language')
    writeFileSync(join(directory, name), scrollable)
  }
}

/** For the policy under which the API sends the pages. */
function hashScripts(directory: string): void {
  const pages = readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.html'))
    .map((name) => readFileSync(join(directory, name), 'utf8'))
  const scripts = pages.flatMap((page) =>
    [...page.matchAll(/<script(?![^>]*\bsrc=)[^>]*>(.*?)<\/script>/gs)].map(
      ([, text = '']) => text,
    ),
  )
  const hashes = [...new Set(scripts)].map((text) => `sha256-${hash('sha256', text, 'base64')}`)
  writeFileSync(join(directory, 'scripts.json'), JSON.stringify(hashes))
}

/** As the API sends them: compressed once, here. */
function compress(directory: string): void {
  for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
    if (!/\.(?:html|js|css|svg|md|txt)$/.test(name)) continue
    const bytes = readFileSync(join(directory, name))
    const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }
    writeFileSync(join(directory, `${name}.br`), brotliCompressSync(bytes, brotli))
    writeFileSync(join(directory, `${name}.gz`), gzipSync(bytes, { level: 9 }))
  }
}
