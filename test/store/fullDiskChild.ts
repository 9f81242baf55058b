// Runs a pipeline on a file system that repeatedly fills to the last byte, and prints the results:
// fullDiskChild.js <an empty file system of a few megabytes>.
import { mkdir, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createActivities } from '../../activities/index.js';
import { openStore } from '../../store/openStore.js';
import { verifyStore } from '../../store/verify.js';
import { doubles, TINIEST_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';

const [place] = process.argv.slice(2);
const filler = join(place!, 'filler');

/** Fills the disk to the last byte: first with large files, then with smaller ones, until none fits. */
async function fill(): Promise<void> {
  const file = await open(filler, 'w');
  for (const size of [65_536, 4_096, 256, 16, 1]) {
    for (let hasRoom = true; hasRoom; ) {
      hasRoom = await file.write(Buffer.alloc(size)).then(
        ({ bytesWritten }) => bytesWritten === size,
        () => false,
      );
    }
  }
  await file.close();
}

const quiet = await doubles();
const expected = await runPipeline(createActivities(quiet.deps), 'run', TINIEST_RUN);
await rm(quiet.folder, { recursive: true });

await mkdir(join(place!, 'store'));
const store = await openStore(join(place!, 'store'));
const { deps } = await doubles({ store });
const acts = createActivities(deps);
const faults: string[] = [];
let calls = 0;
const wrapped = Object.fromEntries(
  Object.entries(acts).map(([name, act]) => [
    name,
    async (input: never) => {
      if (++calls % 4 === 2) await fill();
      for (;;) {
        try {
          return await (act as (input: never) => Promise<unknown>)(input);
        } catch (error) {
          const { type, nonRetryable, message } = error as { type: string; nonRetryable: boolean; message: string };
          faults.push(`${type} ${!nonRetryable} ${message}`);
          if (nonRetryable || faults.length > 100) throw error;
          await rm(filler, { force: true }); // frees some space
        }
      }
    },
  ]),
) as unknown as typeof acts;
const result = await runPipeline(wrapped, 'run', TINIEST_RUN);
await rm(filler, { force: true });
const { findings } = await verifyStore(store);
const leftovers = await readdir(join(place!, 'store', 'tmp'));
const same = JSON.stringify([result.digests, result.after]) === JSON.stringify([expected.digests, expected.after]);
process.stdout.write(JSON.stringify({ faults, problems: findings, leftovers, same }));
