// `npm run recording -- FILE [COMMAND…]`: records a command in a terminal as an animated SVG. The default command is the demo
// with a new store. Pauses are shortened, but the picture shows the real time. Needs `script` of util-linux 2.35 or newer.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../infra/root.mjs';

const [COLUMNS, ROWS] = [96, 30];
const [CELL, LINE] = [7.8, 17]; // in pixels
const MOST_WAIT = 0.2; // the longest time between two frames, in seconds
const LAST = 12; // the duration of the last frame, in seconds
const MOST_SECONDS = 36; // the longest duration of the other frames together
const MOST_FRAMES = 240;
const MAX_BYTES = 1_000_000;
const COLOURS = ['#8b949e', '#ff7b72', '#7ee787', '#f2cc60', '#79b8ff', '#d2a8ff', '#56d4dd', '#e6edf3'];

interface Cell {
  char: string;
  colour?: string | undefined;
}

/** Emulates the parts of a terminal that the commands use: text, colours, and cursor moves. Keeps every line. */
export class Screen {
  private readonly rows: Cell[][] = [[]];
  private x = 0;
  private y = 0;
  private colour: string | undefined;

  write(text: string): void {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: terminal escape sequences
    for (const [token, code, kind] of text.matchAll(/\u001b\[\??([\d;]*)([A-Za-z])|[\s\S]/gu)) {
      if (kind !== undefined) this.control(kind, code === '' ? undefined : Number(code));
      else if (token === '\r') this.x = 0;
      else if (token === '\n') this.rows[++this.y] ??= [];
      else this.rows[this.y]![this.x++] = { char: token, colour: this.colour };
    }
  }

  private control(kind: string, code: number | undefined): void {
    const row = this.rows[this.y]!;
    if (kind === 'A') this.y -= code ?? 1;
    else if (kind === 'G') this.x = (code ?? 1) - 1;
    else if (kind === 'K') row.splice(this.x);
    else if (kind === 'J') {
      row.splice(this.x);
      this.rows.splice(this.y + 1);
    } else if (kind === 'm') this.colour = COLOURS[(code ?? 0) - 30];
  }

  /** The last lines. Each line is a list of parts with one colour. */
  lines(): string[] {
    return this.rows.slice(-ROWS).map((row) => {
      const parts: Cell[] = [];
      for (const { char, colour } of Array.from(row, (cell) => cell ?? { char: ' ' }).slice(0, COLUMNS)) {
        const last = parts.at(-1);
        if (last && last.colour === colour) last.char += char;
        else parts.push({ char, colour });
      }
      return parts
        .map(({ char, colour }) => (colour ? `<tspan fill="${colour}">${escaped(char)}</tspan>` : escaped(char)))
        .join('');
    });
  }
}

const escaped = (text: string): string => text.replace(/[&<>]/g, (char) => `&#${char.charCodeAt(0)};`);

interface Frame {
  at: number; // in seconds
  lines: string[];
}

/** @param timing lines 'SECONDS BYTES' of `script`, each for the next output */
export function framesOf(output: Buffer, timing: string): { frames: Frame[]; seconds: number } {
  const screen = new Screen();
  const frames: Frame[] = [];
  let [at, seconds, waited, from] = [0, 0, 0, 0];
  const decoder = new TextDecoder();
  for (const line of timing.trim().split('\n')) {
    const [delay = 0, bytes = 0] = line.split(' ').map(Number);
    seconds += delay;
    waited += delay;
    screen.write(decoder.decode(output.subarray(from, from + bytes), { stream: true }));
    from += bytes;
    const lines = screen.lines();
    if (lines.join('\n') === frames.at(-1)?.lines.join('\n')) continue;
    at += Math.min(waited, MOST_WAIT);
    waited = 0;
    frames.push({ at, lines });
  }
  const every = Math.ceil(frames.length / MOST_FRAMES);
  return { frames: frames.filter((_, i) => i % every === 0 || i === frames.length - 1), seconds };
}

/** Shows each frame for its share of the time. Stores equal lines only once. */
export function animation(recorded: readonly Frame[], title: string): string {
  const pace = Math.min(1, MOST_SECONDS / recorded.at(-1)!.at);
  const frames = recorded.map(({ at, lines }) => ({ at: at * pace, lines }));
  const total = frames.at(-1)!.at + LAST;
  const known = new Map<string, number>();
  const drawn = frames.map(({ at, lines }, i) => {
    const uses = lines.flatMap((line, row) => {
      if (line === '') return [];
      const id = known.get(line) ?? known.size;
      known.set(line, id);
      return [`<use href="#l${id}" y="${row * LINE}"/>`];
    });
    const end = frames[i + 1]?.at ?? total;
    const style = `animation:f${i} ${total.toFixed(2)}s steps(1) infinite`;
    const percent = (seconds: number): string => `${((100 * seconds) / total).toFixed(3)}%`;
    const last = i === frames.length - 1 ? '' : `${percent(end)}{visibility:hidden}`;
    const keys = `@keyframes f${i}{0%{visibility:${i === 0 ? 'visible' : 'hidden'}}${percent(at)}{visibility:visible}${last}}`;
    return { keys, group: `<g class="f" style="${style}">${uses.join('')}</g>` };
  });
  const [width, height] = [Math.ceil(COLUMNS * CELL) + 32, ROWS * LINE + 56];
  const texts = [...known].map(([line, id]) => `<text id="l${id}" xml:space="preserve">${line}</text>`);
  // without animations, the last frame is visible
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">
<style>text{font:13px ui-monospace,Menlo,Consolas,monospace;fill:#e6edf3}.f{visibility:hidden}.f:last-of-type{visibility:visible}
@media(prefers-reduced-motion:reduce){.f{animation:none!important}}
${drawn.map(({ keys }) => keys).join('\n')}</style>
<defs>${texts.join('\n')}</defs>
<rect width="100%" height="100%" rx="10" fill="#0d1117"/>
<text x="16" y="24" fill-opacity="0.7">${escaped(title)}</text>
<g transform="translate(16 48)">${drawn.map(({ group }) => group).join('\n')}</g>
</svg>
`;
}

function main([file, ...command]: string[]): void {
  if (file === undefined) throw new Error('usage: npm run recording -- FILE [COMMAND…]');
  const folder = mkdtempSync(join(tmpdir(), 'gauntlet-recording-'));
  try {
    const demo = [process.execPath, join(ROOT, 'bin/gauntlet.mjs'), 'demo', '--store', join(folder, 'store')];
    const words = (command.length > 0 ? command : demo).map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
    const [typescript, timing] = [join(folder, 'typescript'), join(folder, 'timing')];
    const args = ['-qef', '-T', timing, '-c', `stty cols ${COLUMNS} rows ${ROWS}; ${words}`, typescript];
    const env = { ...process.env, TERM: 'xterm-256color', CI: '' };
    const { status, error } = spawnSync('script', args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
    if (status !== 0) throw new Error(`the command failed: ${error?.message ?? `status ${status}`}`);
    write(file, readFileSync(typescript), readFileSync(timing, 'utf8'), command.join(' ') || 'npx gauntlet demo');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Removes the first and the last line of a typescript, which are remarks of `script`. */
function write(file: string, typescript: Buffer, timing: string, name: string): void {
  const { frames, seconds } = framesOf(typescript.subarray(typescript.indexOf('\n') + 1), timing);
  const text = animation(frames, `$ ${name}   (${Math.round(seconds)} s)`);
  if (text.length > MAX_BYTES) throw new Error(`the picture has ${text.length} bytes, more than ${MAX_BYTES}`);
  writeFileSync(file, text);
  console.log(`${file}  ${Math.round(text.length / 1000)} kB, ${frames.length} frames`);
}

if (process.argv[1] === join(ROOT, 'dist/lab/recording.js')) {
  try {
    main(process.argv.slice(2));
  } catch (error) {
    console.error(`recording: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}
