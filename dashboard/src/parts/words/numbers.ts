const WHOLE = new Intl.NumberFormat('en-GB')
const SHORT = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 1 })
const COMPACT = new Intl.NumberFormat('en-GB', { notation: 'compact', maximumFractionDigits: 1 })

export const whole = (value: number): string => WHOLE.format(value)
export const compact = (value: number): string => COMPACT.format(value)

/** `1 event`, `12 events`. */
export function counted(value: number, noun: string, plural = `${noun}s`): string {
  return `${whole(value)} ${value === 1 ? noun : plural}`
}

/** 0.4 ms, 120 ms, 3.2 s, 4 min, 2 h, 5 d. */
export function span(ms: number): string {
  if (ms < 10) return `${SHORT.format(ms)} ms`
  if (ms < 1000) return `${Math.round(ms)} ms`
  const seconds = ms / 1000
  if (seconds < 60) return `${SHORT.format(seconds)} s`
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`
  if (seconds < 48 * 3600) return `${SHORT.format(seconds / 3600)} h`
  return `${SHORT.format(seconds / 86_400)} d`
}

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`
  if (count < 1024 * 1024) return `${SHORT.format(count / 1024)} KiB`
  return `${SHORT.format(count / 1024 / 1024)} MiB`
}

/** `evt_…8k2w`: the end of an id tells neighbours apart, its beginning does not. */
export function shortId(id: string): string {
  const [kind = '', text = ''] = id.split('_')
  return `${kind}_…${text.slice(-6)}`
}
