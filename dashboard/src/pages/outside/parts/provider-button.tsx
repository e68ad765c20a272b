import { providerAddress, useOptions } from '../../../session/options.ts'

/** Leads to the provider, where people sign in with one. It is a page of the API: the router knows nothing of it. */
export function ProviderButton({ next }: { next?: string | undefined }) {
  const provider = useOptions()?.provider ?? null
  if (provider === null) return null
  return (
    <p className="buttons">
      <a className="button main" href={providerAddress(next)}>
        Sign in with {provider}
      </a>
    </p>
  )
}
