// The whole schedule in this process, without Temporal: one line per update and per validation point, then the result.
// node dist/lab/curve.js [--seed N] [--preset NAME] [--model DIR] [--store DIR] [--sandbox wasm|docker] [--threads N] [--set a.b=json]…
import { parseArgs } from 'node:util';
import { createCall } from '../activities/index.js';
import { parseAssignments } from '../cli/input/config.js';
import { merged } from '../core/objects.js';
import type { RunMetrics } from '../core/schema/metrics.js';
import type { Call } from '../method/activity.js';
import { openDeps } from '../workers/deps.js';
import { runPipeline } from '../workflows/pipeline.js';
import { localHost } from '../workflows/runState.js';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '0' },
    preset: { type: 'string', default: 'tiny' },
    model: { type: 'string' },
    store: { type: 'string', default: '.gauntlet' },
    sandbox: { type: 'string', default: 'wasm' },
    threads: { type: 'string' },
    id: { type: 'string' },
    set: { type: 'string', multiple: true, default: [] },
  },
});

const { preset, model } = values;
const input = merged({ preset, seed: Number(values.seed), model }, parseAssignments(values.set));

const { deps, close } = await openDeps({
  store: values.store,
  sandbox: values.sandbox as 'wasm' | 'docker',
  say: (line) => console.error(line),
  ...(values.threads === undefined ? {} : { threads: Number(values.threads) }),
});
const inner = createCall({ ...deps, onMetrics: (_run, metrics) => console.log(line(metrics)) });
const spent: Record<string, number> = {};
const call: Call = async (activity, given) => {
  const started = performance.now();
  try {
    return await inner(activity, given);
  } finally {
    const { name } = activity;
    spent[name] = (spent[name] ?? 0) + (performance.now() - started) / 1000;
  }
};
const f = (x: number | undefined, digits = 3): string => (x === undefined ? '-' : x.toFixed(digits));

function line(metrics: RunMetrics): string {
  if (metrics.kind === 'control') return `-- ${metrics.action} @${metrics.step} ${metrics.reason ?? ''}`;
  if (metrics.kind === 'evaluation') {
    const { passRate, greedyPassRate, testValidity, bugCatchRate } = metrics.rates;
    return `== ${metrics.split} @${metrics.step} ${metrics.checkpoint} pass ${f(passRate)} greedy ${f(greedyPassRate)} valid ${f(testValidity)} catch ${f(bugCatchRate)} score ${f(metrics.score)} (${f(metrics.seconds, 1)} s)`;
  }
  if (metrics.kind === 'supervised')
    return `${metrics.step} warm ${metrics.role.slice(0, 3)} loss ${f(metrics.loss)} validation ${f(metrics.validationLoss ?? Number.NaN)} rows ${metrics.rows} tok ${metrics.update.tokens} ${f(metrics.seconds, 1)} s`;
  const {
    step,
    stage,
    role,
    reward,
    passRate,
    baselinePassRate,
    validity,
    bugCatchRate,
    uniqueInputs,
    suiteSize,
    rows,
    update,
  } = metrics;
  return `${step} s${stage} ${role.slice(0, 3)} reward ${f(reward)} pass ${f(passRate)} base ${f(baselinePassRate)} valid ${f(validity)} catch ${f(bugCatchRate)} unique ${f(uniqueInputs, 2)} suite ${f(suiteSize, 1)} rows ${rows} kl ${f(update.approxKl, 4)} clip ${f(update.clipFraction)} ent ${f(update.entropy)} norm ${f(update.gradNorm, 2)} tok ${update.tokens} · ${Math.round(metrics.tokensPerSecond)} tok/s ${f(metrics.seconds, 2)} s`;
}

const started = performance.now();
try {
  const result = await runPipeline(localHost(call), values.id ?? `curve-${values.preset}-${values.seed}`, input);
  console.log(JSON.stringify(result));
} finally {
  const total = (performance.now() - started) / 1000;
  console.log(
    `wall ${f(total, 1)} s: ${Object.entries(spent)
      .map(([name, s]) => `${name} ${f(s, 1)}`)
      .join(', ')}`,
  );
  await close();
}
