// How far a command is through its rows: a bar on a terminal, nothing elsewhere.
import { SingleBar } from 'cli-progress';
import { holdLine } from './output.js';

export interface RowBar {
  /** @param note for people, after the figures */
  update(done: number, note?: string): void;
  stop(): void;
}

/** @param what the rows are called, e.g. 'programs' */
export function openRowBar(total: number, what: string, stream: NodeJS.WriteStream = process.stderr): RowBar {
  if (!stream.isTTY) return { update: () => undefined, stop: () => undefined };
  let [seen, shown] = [0, ''];
  const bar = new SingleBar({
    stream,
    format: `{bar} {value}/{total} ${what}{note}`,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 24,
    hideCursor: true,
    linewrap: false,
    clearOnComplete: true,
    fps: 8,
    gracefulExit: false, // signals are the command's
  });
  const draw = (): void => bar.start(total, seen, { note: shown });
  draw();
  holdLine({ clear: () => bar.stop(), redraw: draw });
  return {
    update(done, note = '') {
      [seen, shown] = [done, note === '' ? '' : ` · ${note}`];
      bar.update(seen, { note: shown });
    },
    stop() {
      holdLine(undefined);
      bar.stop();
    },
  };
}
