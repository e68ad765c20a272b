import type { Permissions } from '../../api/auth.ts'

const RESOURCES = [
  'projects',
  'sources',
  'destinations',
  'connections',
  'connectors',
  'deliveries',
  'events',
  'billing',
] as const

const LEVELS = [
  ['none', 'None'],
  ['read', 'Read'],
  ['write', 'Read and write'],
] as const

const all = (level: 'read'): Permissions =>
  Object.fromEntries(RESOURCES.map((resource) => [resource, level]))

const configuration = ['projects', 'sources', 'destinations', 'connections', 'connectors']

/** Wanted most often. */
export const PRESETS: readonly (readonly [string, Permissions])[] = [
  ['Read only', all('read')],
  [
    'CI',
    {
      events: 'write',
      deliveries: 'write',
      sources: 'read',
      destinations: 'read',
      connections: 'read',
    },
  ],
  [
    'Terraform or operator',
    Object.fromEntries(configuration.map((each) => [each, 'write' as const])),
  ],
]

/** A choice of level for each resource. */
export function PermissionMatrix({
  permissions,
  onChange,
  mayBill,
}: {
  permissions: Permissions
  onChange: (permissions: Permissions) => void
  mayBill: boolean
}) {
  const set = (resource: string, level: string) => {
    const { [resource]: _before, ...rest } = permissions
    onChange(level === 'read' || level === 'write' ? { ...rest, [resource]: level } : rest)
  }
  return (
    <fieldset className="field">
      <legend>Permissions</legend>
      <div className="buttons">
        {PRESETS.map(([name, preset]) => (
          <button key={name} type="button" className="button" onClick={() => onChange(preset)}>
            {name}
          </button>
        ))}
      </div>
      <table className="table">
        <thead>
          <tr>
            <th>Resource</th>
            <th>Level</th>
          </tr>
        </thead>
        <tbody>
          {RESOURCES.map((resource) => (
            <tr key={resource}>
              <th scope="row">{resource}</th>
              <td>
                <select
                  aria-label={`Level of ${resource}`}
                  value={permissions[resource] ?? 'none'}
                  onChange={(event) => set(resource, event.target.value)}
                >
                  {LEVELS.map(([level, text]) => (
                    <option
                      key={level}
                      value={level}
                      disabled={resource === 'billing' && level === 'write' && !mayBill}
                    >
                      {text}
                    </option>
                  ))}
                </select>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </fieldset>
  )
}

export function permissionWords(permissions: Permissions | null): string {
  if (permissions === null) return 'unscoped: all that a member may'
  const held = Object.entries(permissions).filter(([, level]) => level !== 'none')
  return held.length === 0
    ? 'nothing'
    : held.map(([resource, level]) => `${resource} ${level}`).join(', ')
}
