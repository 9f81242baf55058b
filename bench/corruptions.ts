// Applies single random corruptions to the store of a run and undoes each one. Counts, by kind of file, how many the
// reader rejects and how many `store verify` names. Prints one line of JSON; exits with 1 if one went undetected.
// node dist/bench/corruptions.js [--count 1000] [--seed N] [--store FROM] [--in TO]
// Without a store: a run over doubles. --in: where the damaged copy lies, such as an s3: URL; default: a temporary folder.
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createActivities } from '../activities/index.js';
import { copyStore } from '../store/copy.js';
import { openStore } from '../store/openStore.js';
import { verifyStore } from '../store/verify.js';
import { corruptAtRandom } from '../test/support/corruptions.js';
import { doubles, TINIEST_RUN } from '../test/support/doubles.js';
import { runPipeline } from '../workflows/pipeline.js';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '0' },
    store: { type: 'string' },
    in: { type: 'string' },
  },
});

const folder = await mkdtemp(join(tmpdir(), 'gauntlet-corruptions-'));
try {
  const from = values.store ?? (await runOverDoubles());
  const store = await openStore(values.in ?? join(folder, 'copy'));
  if ((await store.listRuns()).length > 0)
    throw new Error(`${store.locate('')} has runs: name an empty store with --in`);
  await copyStore(await openStore(from), store);
  const started = performance.now();
  const { checked } = await verifyStore(store);
  const verifySeconds = (performance.now() - started) / 1000;
  const trials = await corruptAtRandom(store, Number(values.count), Number(values.seed));
  for (const [kind, { files, trials: count, refused, verified }] of Object.entries(trials.byKind))
    console.error(`${kind}: ${files} files, ${count} corruptions, ${refused} refused when read, ${verified} found`);
  for (const trial of trials.undetected) console.error(`UNDETECTED ${JSON.stringify(trial)}`);
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
  const run = join(folder, 'run');
  await cp(world.folder, run, { recursive: true });
  await rm(world.folder, { recursive: true });
  return run;
}
