import { readdirSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

import { defineConfig, type Plugin } from 'vite'

const API = process.env['API_URL'] ?? 'http://127.0.0.1:8080'

/** A percent larger than the best, in a tenth of the time. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }

/** Compresses once, at build, what the API then sends as it is. Browsers take Brotli over https and from this machine only. */
const compressed: Plugin = {
  name: 'compressed',
  async writeBundle({ dir = '' }) {
    const files = readdirSync(dir, { recursive: true, encoding: 'utf8' })
    const texts = files.filter((name) => /\.(html|js|css|svg)$/.test(name))
    await Promise.all(texts.map(async (name) => await compress(join(dir, name))))
  },
}

async function compress(file: string): Promise<void> {
  const bytes = await readFile(file)
  await Promise.all([
    writeFile(`${file}.br`, await promisify(brotliCompress)(bytes, BROTLI)),
    writeFile(`${file}.gz`, await promisify(gzip)(bytes, { level: 9 })),
  ])
}

export default defineConfig({
  root: import.meta.dirname,
  plugins: [compressed],
  build: {
    target: 'es2023',
    // A small font as a `data:` URL would break `font-src 'self'`.
    assetsInlineLimit: 0,
    // All styles are one file, for the reason of `shared` below.
    cssCodeSplit: false,
    // The polyfill is for browsers that cannot run the rest.
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      // "use client" says nothing here, and a warning for each file of a package hides real ones.
      onLog: (level, log, report) => {
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') report(level, log)
      },
      output: {
        codeSplitting: {
          groups: [
            { name: 'first', tags: ['$initial'], priority: 2 },
            // A page would load a score of small files otherwise, and browsers six at a time.
            { name: 'shared', minShareCount: 2, priority: 1 },
          ],
        },
      },
    },
  },
  server: { proxy: { '/auth': API, '/app/api': API, '/openapi.json': API, '/docs': API } },
})
