import starlight from '@astrojs/starlight'
import { defineConfig } from 'astro/config'
import starlightLinksValidator from 'starlight-links-validator'
import starlightOpenApi, { openAPISidebarGroups } from 'starlight-openapi'

import { SECTIONS } from './pages.ts'

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
        ...SECTIONS.map(({ label, pages }) => ({ label, items: [...pages] })),
        ...openAPISidebarGroups,
      ],
    }),
  ],
})
