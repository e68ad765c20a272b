import { useEffect, useRef, type ReactNode } from 'react'

/** The heading of a page, which the tab of the browser and its history show too. */
export function PageTitle({ children }: { children: ReactNode }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    const title = `${heading.current?.textContent ?? ''} · Postern`
    if (document.title !== title) document.title = title
  })
  return <h1 ref={heading}>{children}</h1>
}
