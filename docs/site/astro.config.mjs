import starlight from '@astrojs/starlight'
import { defineConfig } from 'astro/config'
import starlightLinksValidator from 'starlight-links-validator'
import starlightOpenApi, { openAPISidebarGroups } from 'starlight-openapi'

import { SIDEBAR } from './pages.ts'

export default defineConfig({
  base: '/docs',
  trailingSlash: 'never',
  build: { format: 'file', inlineStylesheets: 'never' },
  integrations: [
    starlight({
      title: 'Postern',
      description: 'A webhook relay that you run yourself.',
      customCss: ['./src/styles/site.css'],
      plugins: [
        starlightOpenApi([
          {
            base: 'reference',
            schema: './openapi.json',
            sidebar: { label: 'API reference', operations: { badges: true } },
          },
        ]),
        starlightLinksValidator(),
      ],
      sidebar: [
        ...SIDEBAR.map(({ label, entries }) => ({ label, items: entries.map(itemOf) })),
        ...openAPISidebarGroups,
      ],
    }),
  ],
})

function itemOf(entry) {
  if (typeof entry === 'string') return entry
  return { label: entry.label, collapsed: true, items: [...entry.pages] }
}
