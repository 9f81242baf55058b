// The last line of a terminal, redrawn in place. Notes are printed above it.
import { SingleBar } from 'cli-progress';
import { holdLine } from './output.js';

const REDRAWS_PER_SECOND = 4;

/** A bar of `width` characters. @param share 0 to 1 */
export function barText(share: number, width: number): string {
  const filled = Math.round(share * width);
  return `${'█'.repeat(filled)}${'░'.repeat(width - filled)}`;
}

export interface StatusLine {
  draw(): void;
  printAbove(text: string): void;
  close(): void;
}

/** @param text must be shorter than the terminal is wide */
export function openStatusLine(text: () => string, stream: NodeJS.WriteStream): StatusLine {
  const bar = new SingleBar({
    stream,
    format: text,
    hideCursor: true,
    linewrap: false,
    clearOnComplete: true,
    fps: REDRAWS_PER_SECOND,
    gracefulExit: false, // the command handles signals
  });
  let drawn = false;
  const clear = (): void => {
    if (drawn) bar.stop();
    drawn = false;
  };
  const draw = (): void => {
    if (drawn) bar.update(0);
    else bar.start(1, 0);
    drawn = true;
  };
  holdLine({ clear, redraw: draw });
  return {
    draw,
    printAbove(line) {
      clear();
      stream.write(`${line}\n`);
      draw();
    },
    close() {
      holdLine(undefined);
      clear();
    },
  };
}
