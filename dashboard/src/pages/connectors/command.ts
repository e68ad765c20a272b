import { quoted } from '../../parts/words/shell.ts'

/** Loopback stays shut unless it is asked for. */
const LOOPBACK = /^(?:https?:\/\/)?(?:localhost|127\.|\[::1\])/

export function commandOf({
  relay,
  key,
  allow,
}: {
  relay: string
  key: string
  allow: string
}): string {
  return [
    `POSTERN_ENROLLMENT_KEY=${quoted(key)} npm run connector -- --relay ${quoted(relay)}`,
    `--allow ${quoted(allow)}${LOOPBACK.test(allow) ? ' --allow-loopback' : ''}`,
  ].join(' \\\n  ')
}
