// A download from the Hugging Face hub prints one line, and a bar in a terminal.
import type { DownloadProgress } from '../../data/hub/download.js';
import { EXIT } from '../terminal/exitCodes.js';
import { onInterrupt } from '../terminal/interrupt.js';
import { note } from '../terminal/output.js';
import { openRowBar, type RowBar } from '../terminal/rowBar.js';

const MB = 1e6;

export async function withDownloadBar<T>(
  name: string,
  work: (onProgress: (progress: DownloadProgress) => void) => Promise<T>,
): Promise<T> {
  let bar: RowBar | undefined;
  const release = onInterrupt(() => {
    bar?.stop();
    if (bar) note('stopped; the same command continues the download');
    process.exit(EXIT.interrupted);
  });
  let shown = -1;
  try {
    return await work(({ file, done, total }) => {
      const megabytes = Math.floor(done / MB);
      if (bar === undefined) note(`downloading ${name}: ${Math.ceil(total / MB)} MB`);
      bar ??= openRowBar(Math.ceil(total / MB), 'MB');
      if (megabytes !== shown) bar.update(megabytes, file);
      shown = megabytes;
    });
  } finally {
    bar?.stop();
    release();
  }
}
