// A writer in its own process, which tests kill or run in parallel: child.js <job> <store> [argument …].
import { commitCheckpoint } from '../../store/checkpoints.js';
import { memoised } from '../../store/memo.js';
import { openStore } from '../../store/openStore.js';
import { createRun, writeMetrics } from '../../store/runs.js';
import { sampleStep } from '../support/sample.js';
import { DIGEST, LARGE, sampleConfig, sampleFacts, sampleFiles } from './support.js';

const [job, root, argument = ''] = process.argv.slice(2);
const store = await openStore(root!);
const METRICS = sampleStep(1);
const say = (text: string) => process.stdout.write(`${text}\n`);

if (job === 'everything') {
  // Writes blobs, memos, metrics and checkpoints until it is killed; prints each write after it returns.
  for (let i = 0; ; i++) {
    const digest = await store.putBlob(new Uint8Array(200_000).fill((i * 31 + Number(argument)) % 251));
    say(`blob ${digest}`);
    // Writes many large files at once, so that a kill is likely to interrupt a write.
    const large = new Uint8Array(LARGE).fill(i % 250);
    await Promise.all(Array.from({ length: 12 }, (_, k) => store.writeRunFile('run', `large/${k}`, large)));
    say(`large ${i}`);
    await store.putMemo(`key-${argument}-${i}`, digest);
    say(`memo key-${argument}-${i} ${digest}`);
    const artifacts = { ...METRICS.artifacts, tests: 'x'.repeat(50_000) };
    await writeMetrics(store, 'run', i, { ...METRICS, step: i + 1, artifacts });
    say(`metrics ${i}`);
    const metadata = await commitCheckpoint(
      store,
      'run',
      sampleFacts({ epoch: (i % 3) + 1, step: i }),
      sampleFiles(i % 200),
    );
    say(`checkpoint ${metadata.name} ${metadata.digest}`);
  }
} else if (job === 'memos') {
  // Competes for every key with its own result and prints the digest that it gets.
  for (let i = 0; i < 60; i++) {
    const { output: result } = await memoised({ store, name: 'race', version: 1 }, { i }, async () => ({
      i,
      by: argument,
    }));
    say(`${i} ${result.by}`);
  }
} else if (job === 'claim') {
  for (let i = 0; i < 30; i++) {
    const facts = { config: sampleConfig(Number(argument)), modelDigest: DIGEST, dataDigest: DIGEST, codeVersion: '1' };
    const won = await createRun(store, `run-${i}`, facts).then(
      () => 'won',
      (error: { code?: string }) => String(error.code),
    );
    say(`${i} ${won}`);
  }
} else if (job === 'big') {
  const outcome = await store.putBlob(new Uint8Array(1_000_000)).then(
    () => 'written',
    (error: { code?: string; retryable?: boolean }) => `${error.code} ${error.retryable}`,
  );
  say(outcome);
} else {
  throw new Error(`no such job: ${job}`);
}
