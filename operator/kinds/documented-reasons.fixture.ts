import { readFileSync } from 'node:fs'

const DOCUMENT = new URL('../../docs/kubernetes/conditions.md', import.meta.url)

interface Row {
  /** The heading above the table. */
  section: string
  type: string
  status: string
  reason: string
  /** `yes` or `no` in the table of faults, else empty. */
  stalled: string
  meaning: string
}

/** The rows of every table of docs/kubernetes/conditions.md that has a column `reason`, a row for each reason. */
export function documentedRows(): Row[] {
  let columns: string[] = []
  let section = ''
  return readFileSync(DOCUMENT, 'utf8')
    .split('\n')
    .flatMap((line): Row[] => {
      section = /^## (.*)/.exec(line)?.[1] ?? section
      const cells = line.split('|').slice(1, -1)
      if (cells.length === 0) columns = []
      const texts = cells.map((cell) => cell.trim().replaceAll('`', ''))
      if (columns.length === 0) columns = texts
      if (!columns.includes('reason') || texts === columns || /^-+$/.test(texts[0] ?? '')) return []
      const cell = (name: string): string => texts[columns.indexOf(name)] ?? ''
      const row = {
        section,
        type: cell('type'),
        status: cell('status'),
        stalled: cell('stalled'),
        meaning: cell('meaning'),
      }
      return cell('reason')
        .split(', ')
        .map((reason) => ({ ...row, reason }))
    })
}
