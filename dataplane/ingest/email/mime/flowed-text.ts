/** A line of a flowed text: how deep it is quoted, and its text without quote marks and stuffed blank. */
const LINE = /^(>*) ?(.*)$/s

/** Joins the lines that `format=flowed` broke; `delSp` says that the blank before each break was added. (RFC 3676) */
export function unfoldFlowed(text: string, delSp: boolean): string {
  const made: string[] = []
  let paragraph: string[] = []
  let depth = 0
  const close = (): void => {
    if (paragraph.length > 0) made.push(`${quoteOf(depth)}${paragraph.join('')}`)
    paragraph = []
  }
  for (const line of text.split('\n')) {
    const [, marks = '', content = ''] = LINE.exec(line) ?? []
    const isSignature = content === '-- '
    if (marks.length !== depth || isSignature) close()
    depth = marks.length
    const isFlowed = content.endsWith(' ') && !isSignature
    paragraph.push(isFlowed && delSp ? content.slice(0, -1) : content)
    if (!isFlowed) close()
  }
  close()
  return made.join('\n')
}

function quoteOf(depth: number): string {
  return depth === 0 ? '' : `${'>'.repeat(depth)} `
}
