// Parts of SVG pictures for documents. Their colours follow the reader's colour scheme.

/** Colour name → [light, dark]. */
const COLOURS = {
  ink: ['#1f2430', '#e6e9f0'],
  muted: ['#5b6472', '#a3adbd'],
  grid: ['#dfe3ea', '#323947'],
  band: ['#eef1f6', '#20252f'],
  sampled: ['#1d63d8', '#7fb0ff'],
  control: ['#b4530a', '#f2a65e'],
} as const satisfies Record<string, readonly [string, string]>;
export type Colour = keyof typeof COLOURS;

/** The style element that defines the colours. */
export function colourStyle(): string {
  const values = (scheme: 0 | 1) => Object.entries(COLOURS).map(([name, pair]) => `--${name}:${pair[scheme]}`);
  return `<style>svg{${values(0).join(';')}}@media(prefers-color-scheme:dark){svg{${values(1).join(';')}}}</style>`;
}

const paint = (colour: Colour): string => `var(--${colour}, ${COLOURS[colour][0]})`;

export const fill = (colour: Colour): string => `fill="${paint(colour)}"`;

export const stroke = (colour: Colour, width: number): string => `stroke="${paint(colour)}" stroke-width="${width}"`;

export const FONT = 'font-family="system-ui, sans-serif" font-size="13"';
