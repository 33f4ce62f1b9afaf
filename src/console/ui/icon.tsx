/** Line icons on a grid of 16, drawn for the console. */
const paths = {
  overview: "M2 13h12M4 13V8M8 13V3M12 13V6",
  namespaces: "M2.5 5 8 2l5.5 3L8 8zM2.5 8 8 11l5.5-3M2.5 11 8 14l5.5-3",
  cluster:
    "M8 5.500a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM4 14.500a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM12 14.500a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM7 5.300 5 10.700M9 5.300l2 5.400M6 12.500h4",
  streams: "M2 4h9M2 8h12M2 12h7",
  links: "M6.5 9.5l3-3M7 4.5 8.5 3a3 3 0 0 1 4.5 4.2L11.5 8.7M9 11.5 7.5 13A3 3 0 0 1 3 8.8L4.5 7.3",
  collections:
    "M2.5 4.5c0-1.2 2.5-2 5.5-2s5.5.8 5.5 2-2.5 2-5.5 2-5.5-.8-5.5-2zM2.5 4.5v7c0 1.2 2.5 2 5.5 2s5.5-.8 5.5-2v-7M2.5 8c0 1.2 2.5 2 5.5 2s5.5-.8 5.5-2",
  live: "M9 1.500 3.500 9H8l-1 5.500L12.500 7H8z",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.7 10.7 14 14",
  sql: "M2 3.5h12v9H2zM4.5 6.5l2 1.5-2 1.5M8 10h3",
  docs: "M3 2.5h7l3 3v8H3zM9.5 2.5v3.5H13M5.5 9h5M5.5 11.5h5",
  key: "M5 13a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM7.2 7.8 13 2M10.500 4.500l2 2",
  plus: "M8 3v10M3 8h10",
  trash: "M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5 5 13.5h6l.5-9",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  check: "M3 8.5 6.5 12 13 4.5",
  alert: "M8 2 14.5 13.5h-13zM8 6.5v3M8 11.6v.1",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z",
  menu: "M2 4h12M2 8h12M2 12h12",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  help: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM6.2 6.3a1.9 1.9 0 1 1 2.6 1.8c-.5.2-.8.5-.8 1.1M8 11.2v.1",
  play: "M4.5 3v10l8-5z",
  pause: "M5 3v10M11 3v10",
  edit: "M3 13h2.5L13 5.5 10.5 3 3 10.5z",
  out: "M9.5 3H13v10H9.5M2.5 8H10M7 5l3 3-3 3",
  refresh: "M13 8a5 5 0 1 1-1.5-3.6L13 6M13 2.5V6H9.5",
  flame: "M8 14c2.5 0 4.5-1.8 4.5-4.3C12.5 6.5 9 5.500 9 2 6 3.500 3.500 6 3.500 9.700 3.500 12.200 5.500 14 8 14z",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}
