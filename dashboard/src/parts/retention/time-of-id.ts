const LETTERS = '0123456789abcdefghjkmnpqrstvwxyz'
/** They hold the milliseconds at which the id was made. */
const TIME_LETTERS = 10

/** When the thing with this id was made, in milliseconds; undefined for a text that is no id. */
export function timeOfId(id: string): number | undefined {
  const [, time] = /^[a-z]{3}_([0-7][0-9a-hjkmnp-tv-z]{9})[0-9a-hjkmnp-tv-z]{16}$/.exec(id) ?? []
  if (time?.length !== TIME_LETTERS) return undefined
  return time.split('').reduce((ms, letter) => ms * 32 + LETTERS.indexOf(letter), 0)
}
