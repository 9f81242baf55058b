// Our side of `bench original`: a whole run in this process, which waits for a request before each update.
//   node dist/bench/original/ours.js STORE CONFIG
import { readFileSync } from 'node:fs';
import { createActivities } from '../../activities/index.js';
import { type Activities, callOf } from '../../method/activities.js';
import { openDeps } from '../../workers/deps.js';
import { runPipeline } from '../../workflows/pipeline.js';
import { localHost } from '../../workflows/runState.js';
import { samplePeakMemory } from '../peers/peakMemory.js';
import { serve } from '../peers/serve.js';

export interface Update {
  seconds: number;
  tokens: number; // sampled
  updated: boolean;
}

const peakMemory = samplePeakMemory();
const [store, config] = process.argv.slice(2) as [string, string];
const { deps } = await openDeps({ store, sandbox: 'auto', say: (line) => console.error(line) });
const activities = createActivities(deps);

let begin = (): void => undefined;
let end = (_: Update | Error): void => undefined;
let begun = 0;
const isReady = new Promise<void>((ready) => {
  let isFirst = true;
  const gated: Activities = {
    ...activities,
    /** The first activity of a step. */
    async generateChains(input) {
      if (input.batch.kind === 'train') {
        const go = new Promise<void>((resolve) => {
          begin = resolve;
        });
        if (isFirst) ready();
        isFirst = false;
        await go;
      }
      return activities.generateChains(input);
    },
    /** The last activity of a step. */
    async trainPolicy(input) {
      const trained = await activities.trainPolicy(input);
      const { sampledTokens, rows } = trained.metrics;
      end({ seconds: (performance.now() - begun) / 1000, tokens: sampledTokens, updated: rows > 0 });
      return trained;
    },
  };
  const input: unknown = JSON.parse(readFileSync(config, 'utf8'));
  runPipeline(localHost(callOf(gated)), 'ours', input).catch((error: Error) => end(error));
});

await serve({
  load: () => isReady.then(() => ({})),
  update: () =>
    new Promise<Update>((resolve, reject) => {
      end = (result) => (result instanceof Error ? reject(result) : resolve(result));
      begun = performance.now();
      begin();
    }),
  memory: () => ({ bytes: peakMemory() }),
});
process.exit(0); // the run is not finished
