// Shows how many rows of its input a command has done, as a bar. Only a terminal shows it.
import { barText, openStatusLine } from './statusLine.js';

const WIDTH = 24;

export interface RowBar {
  /** @param note a text that follows the figures */
  update(done: number, note?: string): void;
  stop(): void;
}

/** @param rows what the rows are called, e.g. 'programs' */
export function openRowBar(total: number, rows: string, stream: NodeJS.WriteStream = process.stderr): RowBar {
  if (!stream.isTTY) return { update: () => undefined, stop: () => undefined };
  let [seen, shown] = [0, ''];
  const text = (): string => `${barText(total === 0 ? 0 : seen / total, WIDTH)} ${seen}/${total} ${rows}${shown}`;
  const line = openStatusLine(text, stream);
  line.draw();
  return {
    update(done, note = '') {
      [seen, shown] = [done, note === '' ? '' : ` · ${note}`];
      line.draw();
    },
    stop: line.close,
  };
}
