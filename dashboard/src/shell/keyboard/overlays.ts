/** Its `detail` is the overlay to open: `palette` or `help`. */
export const OPEN_EVENT = 'postern:open'

export const openPalette = (): void => open('palette')
export const showHelp = (): void => open('help')

function open(detail: 'palette' | 'help'): void {
  dispatchEvent(new CustomEvent(OPEN_EVENT, { detail }))
}
