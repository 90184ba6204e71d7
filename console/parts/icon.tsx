/** Icons as SVG in the bundle: fonts lack the characters.
 *  They must never be the only thing that says something. */
const PATHS = {
  check: 'M3.5 8.5l3 3 6-7',
  cross: 'M4 4l8 8M12 4l-8 8',
  play: 'M5.5 3.5l6 4.5-6 4.5z',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  stop: 'M3 8a5 5 0 1 0 10 0a5 5 0 1 0-10 0M4.6 4.6l6.8 6.8',
  wait: 'M8 4.5V8l2.5 1.5M2.5 8a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0-11 0',
  queue: 'M4 8h8',
  warn: 'M8 3l5.5 10h-11zM8 7v3M8 11.6v.1',
  unknown: 'M6 6.2a2 2 0 1 1 2.6 1.9c-.5.2-.6.6-.6 1.2M8 11.6v.1',
  differs: 'M3.5 6h9M3.5 10h9M10.5 3l-5 10',
  home: 'M2.5 7.5L8 3l5.5 4.5V13h-4V9.5h-3V13h-4z',
  chart: 'M3 13V8M6.500 13V4M10 13V9.500M13 13V6',
  list: 'M3 4h10M3 8h10M3 12h10',
  hand: 'M3 8.5l3 3 3.5-4M9 11.5l1 .5L14 5.5',
  dead: 'M2.5 4.5h11v8h-11zM2.5 5l5.5 4 5.5-4',
  tool: 'M9.5 6.5a3 3 0 0 1 4-3.6l-2 2 .6 1 1 .6 2-2a3 3 0 0 1-4 3.9l-4.6 4.6a1.3 1.3 0 0 1-1.9-1.9z',
  agent: 'M4 6.5h8v5.500H4zM8 6.500V4M8 4a.7.7 0 1 0 0-1.400a.7.7 0 0 0 0 1.400M6.3 9v.5M9.7 9v.5',
  more: 'M3.5 8h.1M8 8h.1M12.5 8h.1',
  copy: 'M5.5 5.500h7v7h-7zM3.5 10.500v-7h7',
  down: 'M4 6l4 4 4-4',
  right: 'M6 4l4 4-4 4',
  theme: 'M8 2.500a5.5 5.5 0 1 0 0 11zM8 2.500a5.5 5.5 0 0 1 0 11',
  search: 'M3 7a4 4 0 1 0 8 0a4 4 0 1 0-8 0M10 10l3 3',
  out: 'M6.5 3h-3v10h3M7 8h6M10.5 5.500L13 8l-2.5 2.5',
  keys: 'M2.5 4.500h11v7h-11zM5 7h.1M8 7h.1M11 7h.1M5 9.500h6',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
