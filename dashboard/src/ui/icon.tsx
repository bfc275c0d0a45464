import type { ReactNode } from 'react'

/** Line icons on a 16 px grid. Hidden from screen readers, which read the text beside them. */
const SHAPES = {
  overview: <path d="M2.500 13.500v-4M6.200 13.500V5M9.800 13.500V7.500M13.500 13.500v-11" />,
  queues: <path d="M2.500 4h11M2.500 8h11M2.500 12h7" />,
  jobs: <path d="M8 1.800 13.400 5v6L8 14.200 2.600 11V5zM2.800 5.100 8 8.100l5.200-3M8 8.100v6" />,
  errors: <path d="M8 2 14.300 13.500H1.700zM8 6.500v3.200M8 11.500v.1" />,
  dead: (
    <path d="M3 6.500a5 5 0 0 1 10 0v2.200l-1.500 1.300v3H4.500v-3L3 8.700zM6 7.500h.1M10 7.500h.1M7 13v-1.500M9 13v-1.500" />
  ),
  schedules: <path d="M8 14a6 6 0 1 0 0-12 6 6 0 0 0 0 12zM8 4.700V8l2.300 1.500" />,
  flows: (
    <path d="M4 2.300v4.200a2 2 0 0 0 2 2h4a2 2 0 0 1 2 2v1.200M4 6.500v7.200M2.600 13.700h2.800M10.600 13.700h2.800M2.600 2.300h2.800" />
  ),
  workers: (
    <path d="M2.500 3h11v4.200h-11zM2.500 8.800h11V13h-11zM5 5.100h.1M5 10.900h.1M8 5.100h3M8 10.900h3" />
  ),
  receivers: (
    <path d="M2.500 9.500a8 8 0 0 1 8-7M2.500 9.500V13H6M5.500 9a4.500 4.500 0 0 1 4.500-4M9 8h4.500v5.500H9z" />
  ),
  playground: <path d="M4.500 2.800v10.400L13 8z" />,
  system: <path d="M1.800 8h2.700l1.600-4.500 3 9L10.900 8h3.300" />,
  audit: <path d="M4 1.800h6l3 3v9.400H4zM10 1.800V5h3M6.300 8h4.400M6.300 10.800h4.400" />,
  tokens: (
    <path d="M9.200 6.800 2.500 13.500v-3M5 11l1.500 1.500M14 5.200a3.200 3.200 0 1 1-6.400 0 3.200 3.200 0 0 1 6.400 0z" />
  ),
  bulk: <path d="M5.500 2h8.500v8.500M2 5.500h8.500V14H2zM4.300 9.800l1.500 1.500 2.600-3" />,
  search: <path d="M7 11.800a4.800 4.800 0 1 0 0-9.600 4.800 4.800 0 0 0 0 9.600zM10.500 10.500 14 14" />,
  sun: (
    <path d="M8 10.800a2.800 2.800 0 1 0 0-5.600 2.800 2.800 0 0 0 0 5.600zM8 1.500v1.300M8 13.200v1.300M1.500 8h1.300M13.200 8h1.300M3.400 3.400l.9.9M11.700 11.700l.9.9M12.600 3.400l-.9.9M4.300 11.700l-.9.9" />
  ),
  moon: <path d="M13.500 9.700A5.700 5.700 0 0 1 6.300 2.500a5.700 5.700 0 1 0 7.200 7.200z" />,
  screen: <path d="M2 3h12v8H2zM6 13.500h4M8 11v2.500" />,
  close: <path d="M3.800 3.800l8.400 8.400M12.200 3.800l-8.400 8.400" />,
  check: <path d="M3 8.500 6.300 12 13 4.500" />,
  copy: <path d="M5.500 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3" />,
  more: <path d="M3.500 8h.1M8 8h.1M12.500 8h.1" strokeWidth="2.400" />,
  down: <path d="M4 6l4 4 4-4" />,
  right: <path d="M6 4l4 4-4 4" />,
  left: <path d="M10 4 6 8l4 4" />,
  pause: <path d="M5.500 3.500v9M10.500 3.500v9" strokeWidth="2" />,
  play: <path d="M5 3.500v9L12.500 8z" />,
  retry: <path d="M13 8a5 5 0 1 1-1.500-3.600M13.200 2v3h-3" />,
  stop: <path d="M4 4h8v8H4z" />,
  trash: <path d="M2.500 4.300h11M6 4.200V2.500h4v1.700M4 4.500l.6 9h6.800l.6-9M6.700 7v4M9.300 7v4" />,
  edit: <path d="M3 13l.6-3L10.500 3l2.500 2.500-7 7z" />,
  plus: <path d="M8 3v10M3 8h10" />,
  external: <path d="M6.500 3H3v10h10V9.500M9 2.500h4.500V7M13 3 7.500 8.500" />,
  filter: <path d="M2 3.500h12L9.500 8.700v4.600l-3-1.500V8.700z" />,
  block: <path d="M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM3.800 3.800l8.400 8.400" />,
  bookmark: <path d="M4 2.500h8v11l-4-3-4 3z" />,
  columns: <path d="M2.500 3h11v10h-11zM6.200 3v10M9.800 3v10" />,
  info: <path d="M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 7.300v3.700M8 5v.1" />,
  up: <path d="M8 13V3M4 7l4-4 4 4" />,
  menu: <path d="M2.500 4.500h11M2.500 8h11M2.500 11.500h11" />,
  expand: <path d="M9.500 2.500h4v4M13.500 2.500l-4.500 4.500M6.500 13.500h-4v-4M2.500 13.500 7 9" />,
} satisfies Readonly<Record<string, ReactNode>>

export type IconName = keyof typeof SHAPES

export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }): ReactNode {
  return (
    <svg
      className="icon"
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.400"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      {SHAPES[name]}
    </svg>
  )
}

/** The logo: a skep, a beehive of woven straw. */
export function Logo({ size = 24 }: { readonly size?: number }): ReactNode {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <path
        d="M16 3c6.200 0 11 8.200 11 18.200 0 2.900-.3 5.800-11 5.800S5 24.100 5 21.200C5 11.200 9.800 3 16 3z"
        fill="#f5b946"
      />
      <path
        d="M9.300 9.400c4 2.300 9.400 2.300 13.400 0M6.400 14.800c5.800 3 13.400 3 19.200 0M5.100 20.200c6.600 3.200 15.200 3.200 21.800 0"
        fill="none"
        stroke="#92500a"
        strokeWidth="1.900"
        strokeLinecap="round"
      />
      <path d="M12.700 26.900v-2.300a3.300 3.300 0 0 1 6.600 0v2.300z" fill="#5c3207" />
    </svg>
  )
}
