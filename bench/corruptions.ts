// Single random corruptions of the store of a real run, each undone before the next: how many are refused by their
// reader and how many `store verify` names, by kind of file. Ends with one line of JSON; exit code 1 where one
// went unseen.
// node dist/bench/corruptions.js [--count 1000] [--seed N] [--store DIR]  (without a store: a run over doubles)
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createActivities } from '../activities/index.js';
import { openFileStore } from '../store/fileStore.js';
import { verifyStore } from '../store/verify.js';
import { corruptAtRandom } from '../test/support/corruptions.js';
import { doubles, TINIEST_RUN } from '../test/support/doubles.js';
import { runPipeline } from '../workflows/pipeline.js';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '0' },
    store: { type: 'string' },
  },
});

const folder = await mkdtemp(join(tmpdir(), 'gauntlet-corruptions-'));
try {
  const root = values.store === undefined ? await runOverDoubles() : await copyOf(values.store);
  const started = performance.now();
  const { checked } = await verifyStore(await openFileStore(root));
  const verifySeconds = (performance.now() - started) / 1000;
  const trials = await corruptAtRandom(root, Number(values.count), Number(values.seed));
  for (const [kind, { files, trials: count, refused, verified }] of Object.entries(trials.byKind))
    console.error(`${kind}: ${files} files, ${count} corruptions, ${refused} refused when read, ${verified} found`);
  for (const trial of trials.undetected) console.error(`UNSEEN ${JSON.stringify(trial)}`);
  const { undetected, ...figures } = trials;
  console.log(
    JSON.stringify({ seed: Number(values.seed), ...figures, undetected: undetected.length, checked, verifySeconds }),
  );
  if (undetected.length > 0) process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function runOverDoubles(): Promise<string> {
  const world = await doubles({ renderReport: async () => '<html></html>' });
  await runPipeline(createActivities(world.deps), 'run', TINIEST_RUN);
  await cp(world.folder, join(folder, 'store'), { recursive: true });
  await rm(world.folder, { recursive: true });
  return join(folder, 'store');
}

/** The store itself is not touched. */
async function copyOf(store: string): Promise<string> {
  for (const part of ['blobs', 'memo', 'runs'])
    await cp(join(store, part), join(folder, 'store', part), { recursive: true });
  return join(folder, 'store');
}
