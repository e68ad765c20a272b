import { Outlet } from '@tanstack/react-router'

import { PasswordGate } from '../parts/password/password-gate.tsx'
import { Toasts } from '../parts/toast.tsx'

/** Around every page, inside the router: a toast may lead to a page. */
export function Frame() {
  return (
    <>
      <Outlet />
      <PasswordGate />
      <Toasts />
    </>
  )
}
