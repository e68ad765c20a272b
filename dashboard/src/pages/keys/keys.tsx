import { useState } from 'react'

import type { Key } from '../../api/auth.ts'
import { OWNERS_ONLY, useProject } from '../../session/project.tsx'
import { useSession } from '../../session/session.ts'
import { SecretPage } from '../secrets/secret-page.tsx'
import { SecretRow } from '../secrets/secret-row.tsx'
import { NewKey } from './new-key.tsx'
import { permissionWords } from './permissions.tsx'
import { RescopeDialog } from './rescope-dialog.tsx'

export function Keys() {
  const { mayAll } = useProject()
  return (
    <SecretPage
      kind="key"
      column="May"
      about={
        <>
          A key is for a program that calls the API under <code>/v1</code>.{' '}
          {!mayAll && 'A key that you make never may more than you.'}
        </>
      }
      advice="Make one for each program, with what it needs and no more."
      dialog={(onClose) => <NewKey onClose={onClose} />}
      row={(key) => <KeyRow key={key.id} apiKey={key} />}
    />
  )
}

function KeyRow({ apiKey }: { apiKey: Key }) {
  const { mayAll } = useProject()
  const { user } = useSession()
  const [isOpen, setOpen] = useState(false)
  const mayChange = mayAll || apiKey.createdBy === user.id
  return (
    <SecretRow
      kind="key"
      secret={apiKey}
      hint={apiKey.secretHint}
      column="May"
      cell={permissionWords(apiKey.permissions)}
      noProject="any"
      mayChange={mayChange}
      warning="The next request with this key is refused."
    >
      <button
        type="button"
        className="button"
        aria-disabled={!mayChange}
        title={mayChange ? undefined : OWNERS_ONLY}
        onClick={() => mayChange && setOpen(true)}
      >
        Rescope…
      </button>
      {isOpen && <RescopeDialog apiKey={apiKey} onClose={() => setOpen(false)} />}
    </SecretRow>
  )
}
