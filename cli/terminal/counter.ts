// Shows how much a command has read of something whose size it does not know. Only a terminal shows it.
import { openStatusLine } from './statusLine.js';

export interface Counter {
  update(count: number): void;
  stop(): void;
}

const EVERY = 100;

/** @param what names what is counted, e.g. 'problems read' */
export function openCounter(what: string, stream: NodeJS.WriteStream = process.stderr): Counter {
  if (!stream.isTTY) return { update: () => undefined, stop: () => undefined };
  let seen = 0;
  const line = openStatusLine(() => `${seen.toLocaleString('en')} ${what}`, stream);
  let isOpen = true;
  return {
    update(count) {
      seen = count;
      if (count % EVERY === 0 && isOpen) line.draw();
    },
    stop() {
      if (isOpen) line.close();
      isOpen = false;
    },
  };
}
