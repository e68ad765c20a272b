import type { Agent, Key, Member } from '../../api/auth.ts'
import { CheckField } from '../../parts/forms/fields.tsx'
import { Loaded } from '../../parts/states.tsx'
import { permissionWords } from '../keys/permissions.tsx'
import { useSecrets } from '../secrets/secret-page.tsx'

/** The working keys and agents of a member that are about to end. With `onChange` each can be kept. */
export function MadeList({
  member,
  ends = () => true,
  keep,
  onChange,
}: {
  member: Member
  ends?: (one: Key | Agent) => boolean
  keep: readonly string[]
  onChange?: (keep: string[]) => void
}) {
  const keys = useSecrets('key')
  const agents = useSecrets('agent')
  return (
    <Loaded query={keys} noun="The list of keys">
      {(ofKeys) => (
        <Loaded query={agents} noun="The list of agents">
          {(ofAgents) => {
            const made = [
              ...ofKeys.filter(({ createdBy }) => createdBy === member.id),
              ...ofAgents.filter(({ memberId }) => memberId === member.id),
            ].filter((one) => isWorking(one) && ends(one))
            if (made.length === 0) return <p>No key and no agent ends.</p>
            if (onChange === undefined) return <MadeNames made={made} />
            return made.map((one) => (
              <CheckField
                key={one.id}
                label={`Keep ${nameOf(one)}`}
                value={keep.includes(one.id)}
                hint={'permissions' in one ? permissionWords(one.permissions) : undefined}
                onChange={(isKept) => {
                  const rest = keep.filter((id) => id !== one.id)
                  onChange(isKept ? [...rest, one.id] : rest)
                }}
              />
            ))
          }}
        </Loaded>
      )}
    </Loaded>
  )
}

function MadeNames({ made }: { made: readonly (Key | Agent)[] }) {
  return (
    <ul>
      {made.map((one) => (
        <li key={one.id}>{nameOf(one)}</li>
      ))}
    </ul>
  )
}

/** As the query of a request that changes a member. */
export function keepQuery(keep: readonly string[]): string {
  return keep.length === 0 ? '' : `?keep=${keep.join(',')}`
}

function nameOf(one: Key | Agent): string {
  return 'permissions' in one ? `key ${one.name} ${one.secretHint}` : `agent ${one.name}`
}

function isWorking({ revokedAt, expiresAt }: Key | Agent): boolean {
  return revokedAt === null && (expiresAt === null || Date.parse(expiresAt) > Date.now())
}
