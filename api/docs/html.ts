/** HTML that is safe to put into a page as it is. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Piece = string | number | Html | undefined | readonly Piece[]

/** A template whose values are escaped, unless they are HTML already. Lists are joined, undefined is nothing. */
export function html(strings: TemplateStringsArray, ...values: readonly Piece[]): Html {
  return new Html(String.raw({ raw: strings }, ...values.map(write)))
}

/** The marks of our descriptions: paragraphs, lists with `- `, and code between backticks. */
export function prose(text: string): Html {
  const blocks = text.split('\n\n').map((block) => {
    const lines = block.split('\n')
    return lines.every((line) => line.startsWith('- '))
      ? html`<ul>
          ${lines.map((line) => html`<li>${inline(line.slice(2))}</li>`)}
        </ul>`
      : html`<p>${inline(block)}</p>`
  })
  return html`${blocks}`
}

function inline(text: string): Html {
  const pieces = text
    .split('`')
    .map((piece, n) => (n % 2 === 1 ? html`<code>${piece}</code>` : html`${piece}`))
  return html`${pieces}`
}

function write(piece: Piece): string {
  if (piece === undefined) return ''
  if (piece instanceof Html) return piece.text
  if (typeof piece === 'object') return piece.map(write).join('')
  return String(piece).replaceAll(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`)
}
