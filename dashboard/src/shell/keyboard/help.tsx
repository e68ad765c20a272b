import { useState } from 'react'

import { Dialog } from '../../parts/dialog.tsx'
import { CheckField } from '../../parts/forms/fields.tsx'
import { areKeysOn, switchKeys } from '../../parts/keys.ts'

const KEYS = [
  ['Ctrl K', 'Find a page, or open an id'],
  ['/', 'Search this list'],
  ['f', 'Go to the filters of this list'],
  ['.', 'Go to the actions of this page'],
  ['j, k', 'Next and previous row'],
  ['Enter', 'Open the row'],
  ['o', 'Open the row in a new tab'],
  ['x', 'Select the row'],
  ['r', 'Replay an event, retry a delivery'],
  ['l', 'Live tail on and off'],
  ['[, ]', 'Previous and next event'],
  ['c', 'Copy the id'],
  ['g o', 'Overview'],
  ['g e', 'Events'],
  ['g d', 'Deliveries'],
  ['g s', 'Sources'],
  ['g t', 'Destinations'],
  ['g c', 'Connections'],
  ['g n', 'Connectors'],
  ['g p', 'Operations'],
  ['g a', 'Alerts'],
  ['Esc', 'Close, or back'],
  ['?', 'This list'],
] as const

export function Help({ onClose }: { onClose: () => void }) {
  const [isOn, setOn] = useState(areKeysOn)
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <table className="table">
        <thead>
          <tr>
            <th>Keys</th>
            <th>Effect</th>
          </tr>
        </thead>
        <tbody>
          {KEYS.map(([keys, effect]) => (
            <tr key={keys}>
              <td>
                <kbd>{keys}</kbd>
              </td>
              <td>{effect}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <CheckField
        label="Single-key commands"
        hint="Off: only Ctrl K remains."
        value={isOn}
        onChange={(next) => {
          switchKeys(next)
          setOn(next)
        }}
      />
      <div className="buttons">
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  )
}
