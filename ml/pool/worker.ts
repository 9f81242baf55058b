// Entry of a worker thread. It has one decode session and one training session, and does one job at a time.
import { parentPort, workerData } from 'node:worker_threads';
import { GauntletError } from '../../core/base/errors.js';
import { DecodeSession } from '../decode/decodeSession.js';
import { DeviceDecoder, generateWithBoth } from '../decode/deviceDecoder.js';
import { BaseWeights } from '../device/baseWeights.js';
import { OpenGraphs } from '../device/openGraphs.js';
import { deviceOf } from '../device/runtime.js';
import { isQuantized, sessionModel } from '../engine/base.js';
import type { Adapter, GradientSums } from '../engine/engine.js';
import { collectGarbage } from '../engine/garbage.js';
import { HALF } from '../ir/half.js';
import type { IdentifiedAdapter } from '../nn/layout.js';
import { adamwStep } from '../optim/adamw.js';
import { TrainSession } from '../train/trainSession.js';
import type { Job, JobResults, WorkerInit } from './jobs.js';
import type { JobMessage, WorkerMessage } from './pool.js';

const PROGRESS_TOKENS = 256; // a message of progress reports at least so many tokens, unless it is the last one
const PROGRESS_MS = 1000; // the time between messages without tokens

const init = workerData as WorkerInit;
const device = deviceOf(init.provider);
const model = sessionModel(init.config, init.base);
const { precision = 'f32', checkpointing, activationBytes, keptBytes } = init;
const half = HALF[precision];
const graphs = new OpenGraphs(init.graphBytes);
const decoder = new DecodeSession(model, init.config.contextLength, device, graphs, init.batchBytes);
const base =
  init.provider === 'cuda' && !isQuantized(model)
    ? new BaseWeights(model, init.provider, half ?? 'float32')
    : undefined;
const onDevice =
  base &&
  new DeviceDecoder(model, init.config.contextLength, {
    memory: base.memory,
    type: base.type,
    rows: init.decoderRows,
    base,
  });
const trainer = new TrainSession(model, { device, half, base, checkpointing, activationBytes, keptBytes, graphs });
let adapter: { digest: string; local: Adapter } | undefined;
let parameters = { version: -1, flat: new Float32Array(0) };

/** A copy of the adapter in this thread's memory. */
function localAdapter(shared: IdentifiedAdapter): Adapter {
  if (adapter?.digest !== shared.digest) {
    const { digest, values, ...shape } = shared;
    adapter = { digest, local: { ...shape, values: new Float32Array(values) } };
  }
  return adapter.local;
}

type Handlers = {
  [K in Job['kind']]: (job: Extract<Job, { kind: K }>, tools: Tools) => Promise<JobResults[K]>;
};
interface Tools {
  check: () => void; // throws if the job was stopped
  progress: (amount: number) => void;
}

const handlers: Handlers = {
  async generate(job, { check, progress }) {
    const own = job.adapter && { ...localAdapter(job.adapter), digest: job.adapter.digest };
    let unreported = 0;
    const onTokens = (count: number): void => {
      unreported += count;
      if (unreported < PROGRESS_TOKENS) return;
      progress(unreported);
      unreported = 0;
    };
    const hooks = { check, onTokens };
    const { requests, options, cacheBytes } = job;
    decoder.use(own, job.threads);
    onDevice?.use(own);
    const results = onDevice
      ? await generateWithBoth(onDevice, decoder, requests, options, hooks, cacheBytes)
      : await decoder.generate(requests, options, hooks, cacheBytes);
    if (unreported > 0) progress(unreported);
    return results;
  },
  async logprobs({ threads, sequences, adapter, temperature }) {
    const rows = await trainer.use(threads).score(sequences, adapter && localAdapter(adapter), temperature);
    rows.forEach(checkLogprobs);
    return rows;
  },
  async scores({ threads, sequences, adapter, temperature }) {
    const rows = await trainer
      .use(threads)
      .scoreWithEntropies(sequences, adapter && localAdapter(adapter), temperature);
    for (const { logprobs } of rows) checkLogprobs(logprobs);
    return rows;
  },
  gradients: ({ threads, sequences, adapter, loss, indices }) =>
    trainer.use(threads).ppo(sequences, localAdapter(adapter), loss, indices),
  async update({ adapter, state, sums, config }) {
    const { gradients, divisor } = sums; // shared memory that only this job uses
    for (let i = 0; i < gradients.length; i++) {
      if (!Number.isFinite(gradients[i]))
        throw new GauntletError('BAD_INPUT', 'the gradient is not finite: are oldLogprobs those of this policy?');
      gradients[i] = gradients[i]! / divisor;
    }
    const { parameters: values, state: next, gradNorm } = adamwStep(adapter.values, state, gradients, config);
    return { values, state: next, gradNorm };
  },
  supervised(job) {
    if (init.base.kind !== 'fed') throw new TypeError('full-parameter training feeds its weights');
    const { weights } = init.base;
    if (parameters.version !== job.version) parameters = { version: job.version, flat: new Float32Array(weights) };
    return trainer.sft(parameters.flat, job.sequences);
  },
};

function checkLogprobs(row: readonly number[]): void {
  if (!row.every(Number.isFinite)) throw new GauntletError('BAD_MODEL', 'the log-probabilities are not finite');
}

const port = parentPort!;
const send = (message: WorkerMessage, transfer: ArrayBuffer[] = []): void => port.postMessage(message, transfer);

/** Lists the memory of a result that is transferred instead of copied. */
function transferable(kind: Job['kind'], result: JobResults[Job['kind']]): ArrayBuffer[] {
  if (kind === 'gradients') return [(result as GradientSums).gradients.buffer as ArrayBuffer];
  if (kind !== 'update') return [];
  const { values, state } = result as JobResults['update'];
  return [values, state.m, state.v].map(({ buffer }) => buffer as ArrayBuffer);
}

async function perform({ id, job, stop }: JobMessage): Promise<void> {
  let told = performance.now();
  const tools: Tools = {
    check: () => {
      if (Atomics.load(stop, 0) !== 0) throw new GauntletError('ENGINE_FAULT', 'stopped');
      if (performance.now() - told < PROGRESS_MS) return;
      told = performance.now();
      send({ id, kind: 'progress', amount: 0 }); // says that another run of the model has ended
    },
    progress: (amount) => send({ id, kind: 'progress', amount }),
  };
  try {
    tools.check();
    const { kind } = job as Job;
    if (init.alternates && kind !== 'generate') await decoder.close();
    const handler = handlers[kind] as (job: unknown, tools: Tools) => Promise<JobResults[Job['kind']]>;
    const result = await handler(job, tools);
    send({ id, kind: 'done', result }, transferable(kind, result));
  } catch (error) {
    const code = error instanceof GauntletError ? error.code : 'ENGINE_FAULT';
    const message = error instanceof Error ? error.message : String(error);
    const damaged = 'the weights of the model or of the adapter are damaged';
    const why = half ? `numbers do not fit ${precision}: set engine.precision to f32` : damaged;
    send({ id, kind: 'failed', code, message: message.replace(/ are not finite$/, `$&: ${why}`) });
  }
  collectGarbage();
}

let last: Promise<void> = Promise.resolve();
port.on('message', (message: JobMessage | 'close') => {
  last = last.then(async () => {
    if (message !== 'close') return perform(message);
    await graphs.close();
    await trainer.close();
    onDevice?.close();
    port.close();
  });
});
