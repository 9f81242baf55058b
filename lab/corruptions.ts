// Applies single random corruptions to the store of a run and undoes each one. Counts, by kind of file, how many corruptions
// the reader rejects and how many `store verify` names. Prints one line of JSON. Exits with 1 if one was not detected.
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCall } from '../activities/index.js';
import { copyStore } from '../store/copy.js';
import { openStore } from '../store/openStore.js';
import { verifyStore } from '../store/verify.js';
import { corruptAtRandom } from '../test/support/corruptions.js';
import { doubles, TINIEST_RUN } from '../test/support/doubles.js';
import { launchS3 } from '../test/support/s3Server.js';
import { runPipeline } from '../workflows/pipeline.js';
import { localHost } from '../workflows/runState.js';
import { FLAG, LabError, positive, readFlags, TEXT } from './flags.js';

const USAGE = `npm run corruptions -- [options]
  --count N     corruptions (default 1000)
  --seed N      default 0
  --store FROM  store to copy and damage (default: that of a run over doubles)
  --in TO       where the damaged copy lies, such as an s3: URL (default: a temporary folder)
  --s3          where the damaged copy lies: in an S3 server that this command starts`;

async function main(args: string[]): Promise<void> {
  const values = readFlags(args, {
    count: TEXT,
    seed: TEXT,
    store: TEXT,
    in: TEXT,
    s3: FLAG,
    help: FLAG,
  });
  if (values.help) return console.log(USAGE);
  const count = positive('count', values.count ?? '1000');
  const seed = Number(values.seed ?? '0');
  const s3 = values.s3 ? await launchS3('127.0.0.1') : undefined;
  const folder = await mkdtemp(join(tmpdir(), 'gauntlet-corruptions-'));
  try {
    const from = values.store ?? (await runOverDoubles(folder));
    const store = await openStore(values.in ?? s3?.url('cache=0') ?? join(folder, 'copy'));
    if ((await store.listRuns()).length > 0)
      throw new Error(`${store.locate('')} has runs: name an empty store with --in`);
    await copyStore(await openStore(from), store);
    const started = performance.now();
    const { checked } = await verifyStore(store);
    const verifySeconds = (performance.now() - started) / 1000;
    const trials = await corruptAtRandom(store, count, seed);
    for (const [kind, { files, trials: tried, refused, verified }] of Object.entries(trials.byKind))
      console.error(`${kind}: ${files} files, ${tried} corruptions, ${refused} refused when read, ${verified} found`);
    for (const trial of trials.undetected) console.error(`UNDETECTED ${JSON.stringify(trial)}`);
    const { undetected, ...figures } = trials;
    console.log(JSON.stringify({ seed, ...figures, undetected: undetected.length, checked, verifySeconds }));
    if (undetected.length > 0) process.exitCode = 1;
  } finally {
    await s3?.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function runOverDoubles(folder: string): Promise<string> {
  const world = await doubles({ renderReport: async () => '<html></html>' });
  await runPipeline(localHost(createCall(world.deps)), 'run', TINIEST_RUN);
  const run = join(folder, 'run');
  await cp(world.folder, run, { recursive: true });
  await rm(world.folder, { recursive: true });
  return run;
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof LabError)) throw error;
  console.error(error.message);
  process.exitCode = error.exitCode;
}
