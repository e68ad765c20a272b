/** A word that a shell takes as it stands. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
