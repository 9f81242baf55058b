// The folder of a model. A download from the Hugging Face hub prints one line, and a bar in a terminal.
import { modelFolder } from '../../data/modelFolder.js';
import { EXIT } from '../terminal/exitCodes.js';
import { onInterrupt } from '../terminal/interrupt.js';
import { note } from '../terminal/output.js';
import { openRowBar, type RowBar } from '../terminal/rowBar.js';

const MB = 1e6;

/** @throws GauntletError BAD_MODEL | HUB_FAULT */
export async function provideModel(model: string): Promise<string> {
  let bar: RowBar | undefined;
  const release = onInterrupt(() => {
    bar?.stop();
    if (bar) note('stopped; the same command continues the download');
    process.exit(EXIT.interrupted);
  });
  let shown = -1;
  try {
    return await modelFolder(model, ({ file, done, total }) => {
      const megabytes = Math.floor(done / MB);
      if (bar === undefined) note(`downloading ${model}: ${Math.ceil(total / MB)} MB`);
      bar ??= openRowBar(Math.ceil(total / MB), 'MB');
      if (megabytes !== shown) bar.update(megabytes, file);
      shown = megabytes;
    });
  } finally {
    bar?.stop();
    release();
  }
}
