import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'

import { watchSequences } from './parts/keys.ts'
import { beginPage, router } from './router.tsx'
import { queryClient } from './session/query-client.ts'
import { applyTheme } from './session/theme.ts'

beginPage()
applyTheme()
watchSequences()
const root = document.getElementById('root')
if (root === null) throw new Error('The page has no place for the dashboard')
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
)
