/** The text under the heading of a version in CHANGELOG.md; undefined when it has none, or nothing stands there. */
export function changesOf(changelog: string, version: string): string | undefined {
  const [, ...sections] = changelog.split(/^## /m)
  const section = sections.find((one) => one.startsWith(`[${version}]`))
  const changes = section?.replace(/^.*\n/, '').trim()
  return changes === '' ? undefined : changes
}
