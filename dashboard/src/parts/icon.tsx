const PATHS = {
  gate: 'M4 14V7a4 4 0 0 1 8 0v7M1.5 10h8m-2.5-2.5L9.5 10 7 12.5',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm4-1 3.5 3.5',
  person: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6Zm-6 6c.5-3 3-4.500 6-4.500s5.500 1.500 6 4.500',
  flag: 'M4 15V2h8l-2 3 2 3H4',
  bell: 'M3 12h10l-1.500-2V7a3.500 3.500 0 0 0-7 0v3L3 12Zm3.500 1.500a1.500 1.500 0 0 0 3 0',
  arrow: 'M1 8h13m-4-4 4 4-4 4',
} as const

/** Beside words, never instead of them. */
export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg
      viewBox="0 0 16 16"
      width="16"
      height="16"
      aria-hidden="true"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
    >
      <path d={PATHS[name]} />
    </svg>
  )
}
