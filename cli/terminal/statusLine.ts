// The last lines of a terminal, redrawn in place. Notes are printed above it.
import { MultiBar } from 'cli-progress';
import { holdLine, print, printable } from './output.js';

const REDRAWS_PER_SECOND = 4;

/** Draws a bar of `width` characters. @param share 0 to 1 */
export function barText(share: number, width: number): string {
  const filled = Math.round(share * width);
  return `${'█'.repeat(filled)}${'░'.repeat(width - filled)}`;
}

export interface StatusLine {
  draw(): void;
  printAbove(text: string): void;
  close(): void;
}

/**
 * @param text its lines must be shorter than the terminal is wide
 * @param lines the most lines that the text has
 */
export function openStatusLine(text: () => string, stream: NodeJS.WriteStream, lines = 1): StatusLine {
  let bars: MultiBar | undefined;
  const clear = (): void => {
    bars?.stop();
    bars = undefined;
  };
  const draw = (): void => {
    bars ??= openBars(text, stream, lines);
    bars.update();
  };
  holdLine({ clear, redraw: draw });
  return {
    draw,
    printAbove(line) {
      clear();
      print(`${line}\n`, stream);
      draw();
    },
    close() {
      holdLine(undefined);
      clear();
    },
  };
}

/** Opens a bar for each line. The bars draw themselves again and again. */
function openBars(text: () => string, stream: NodeJS.WriteStream, lines: number): MultiBar {
  const bars = new MultiBar({
    stream,
    hideCursor: true,
    linewrap: false,
    clearOnComplete: true,
    fps: REDRAWS_PER_SECOND,
    gracefulExit: false, // the command handles signals
  });
  for (let i = 0; i < lines; i++) bars.create(1, 0, {}, { format: () => printable(text()).split('\n')[i] ?? '' });
  return bars;
}
