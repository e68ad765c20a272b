import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** Both themes, as wide as a screen and as narrow as a phone. */
export const MODES = [
  { width: 1280, colorScheme: 'light' },
  { width: 1280, colorScheme: 'dark' },
  { width: 360, colorScheme: 'light' },
  { width: 360, colorScheme: 'dark' },
] as const

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

/** Whatever of a page people cannot use, and by how much it is too wide. */
export async function obstaclesOf(page: Page, { withBestPractice = true } = {}): Promise<string[]> {
  const rules = JSON.stringify([...RULES, ...(withBestPractice ? ['best-practice'] : [])])
  await page.evaluate(axe.source)
  const found = await page.evaluate<string[]>(`axe.run(document, { runOnly: ${rules} }).then(
    ({ violations }) => violations.map(({ id, nodes }) =>
      id + ': ' + nodes.map(({ html }) => html).slice(0, 3).join(' | ')))`)
  const over = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
  return over > 0 ? [...found, `is ${over} px too wide`] : found
}
