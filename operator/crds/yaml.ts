/** Texts that YAML reads as themselves without quotes. */
const PLAIN = /^(?!true$|false$|null$|yes$|no$|on$|off$|y$|n$)[A-Za-z/][A-Za-z0-9/_.-]*$/i

/** Plain data as YAML: blocks for objects and lists, JSON for everything that needs quotes. */
export function toYaml(value: unknown, indent = ''): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return ' []\n'
    return `\n${value.map((item) => `${indent}-${inline(item, `${indent}  `)}`).join('')}`
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value)
    if (entries.length === 0) return ' {}\n'
    const lines = entries.map(
      ([name, item]) => `${indent}${scalar(name)}:${toYaml(item, `${indent}  `)}`,
    )
    return `\n${lines.join('')}`
  }
  return ` ${scalar(value)}\n`
}

/** An item of a list begins on the line of its dash. */
function inline(item: unknown, indent: string): string {
  const text = toYaml(item, indent)
  return text.startsWith('\n') ? ` ${text.slice(1 + indent.length)}` : text
}

function scalar(value: unknown): string {
  return typeof value === 'string' && PLAIN.test(value) ? value : JSON.stringify(value)
}
