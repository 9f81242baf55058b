// The minibatches of a policy update, and the step of AdamW after each.
import { deriveKey } from '../../core/base/random.js';
import { planMinibatches } from '../../core/rl/schedules.js';
import type { RunConfig } from '../../core/schema/config.js';
import type { PolicyStats, TokenNumbers, Trajectory } from '../../core/schema/trajectory.js';
import type { UpdatePolicyInput } from '../../method/train.js';
import type { Adapter, GradientSums, LossConfig, OptimizerState } from '../../ml/engine/engine.js';
import { decodeOptimizerState, type OpenRole, ofTrained, openRole, readTrajectories } from '../artifacts.js';
import { trainingTemperature } from '../sample/sampling.js';
import type { Scope } from '../scope.js';

const ADAM_EPS = 1e-8;
const SUPERVISED_MINIBATCH = 8; // examples per minibatch

/** The state of an update after some of its minibatches. */
export interface Progress {
  done: number; // how many minibatches are done
  adapter: Adapter;
  optimizer: OptimizerState;
  stats: PolicyStats[];
  ratios: TokenNumbers; // the ratios of the last epoch so far
  seconds: number; // time of all attempts
}

/** An update whose inputs have been read from the store. */
export interface Update {
  input: UpdatePolicyInput;
  opened: OpenRole;
  isSupervised: boolean; // it belongs to the warm start
  rows: Trajectory[];
  minibatches: number[][]; // indices of rows
  minibatchesPerEpoch: number;
  minibatch(at: number): { sequences: Trajectory[]; loss: LossConfig };
  adapter(): Promise<Adapter>; // the adapter before the update
  start(): Promise<Progress>;
}

/** Undefined if there is nothing to train. */
export async function openUpdate(scope: Scope, input: UpdatePolicyInput): Promise<Update | undefined> {
  const rows = await readTrajectories(scope.store, input.trajectories);
  if (rows.length === 0) return undefined;
  const opened = await openRole(scope, input.run, input.role);
  const { config } = opened;
  const { role, position } = input;
  const isSupervised = position.phase === 'warm-start';
  const { epochs, minibatch } = isSupervised ? { epochs: 1, minibatch: SUPERVISED_MINIBATCH } : config.ppo;
  const path = (draw: string) => [config.seed, draw, role, position.stage, position.step];
  const minibatches = planMinibatches([...rows.keys()], epochs, minibatch, path('minibatches'));
  const minibatchesPerEpoch = minibatches.length / epochs;
  const adapter = () => opened.adapter(input.state.adapter);
  return {
    input,
    opened,
    isSupervised,
    rows,
    minibatches,
    minibatchesPerEpoch,
    minibatch(at) {
      const dropoutKey = deriveKey(...path('dropout'), Math.floor(at / minibatchesPerEpoch), at % minibatchesPerEpoch);
      const loss = isSupervised ? supervisedLoss(config, dropoutKey) : lossOf(config, dropoutKey);
      return { sequences: minibatches[at]!.map((i) => rows[i]!), loss };
    },
    adapter,
    async start() {
      return {
        done: 0,
        adapter: await adapter(),
        optimizer: decodeOptimizerState(await scope.store.getBlob(input.state.optimizer)),
        stats: [],
        ratios: rows.map(() => []),
        seconds: 0,
      };
    },
  };
}

/** One AdamW step with the gradients of the next minibatch. @param seconds of the whole update, so far */
export async function applyMinibatch(
  { input, opened, rows, minibatches, minibatchesPerEpoch }: Update,
  { done: at, adapter, optimizer, ...before }: Progress,
  sums: GradientSums,
  seconds: number,
): Promise<Progress> {
  const adamW = { ...opened.config.ppo, eps: ADAM_EPS, learningRate: input.learningRate };
  const next = await opened.engine.applyUpdate(adapter, optimizer, sums, adamW);
  const ratios = [...before.ratios];
  if (at >= minibatches.length - minibatchesPerEpoch)
    minibatches[at]!.forEach((row, i) => {
      ratios[row] = ofTrained(sums.ratios?.[i] ?? [], rows[row]!.mask);
    });
  const stats = [...before.stats, next.stats];
  return { done: at + 1, adapter: next.adapter, optimizer: next.state, stats, ratios, seconds };
}

export function lossOf(config: RunConfig, dropoutKey: readonly [number, number]): LossConfig {
  const { ppo, lora } = config;
  return {
    clip: ppo.clip,
    clipHigh: ppo.clipHigh ?? undefined,
    temperature: trainingTemperature(config),
    average: ppo.average,
    entropyBonus: ppo.entropyBonus,
    klCoefficient: ppo.klCoefficient,
    dropout: { rate: lora.dropout, key: dropoutKey },
  };
}

function supervisedLoss({ ppo, lora }: RunConfig, key: readonly [number, number]): LossConfig {
  return { supervised: true, clip: ppo.clip, temperature: 1, dropout: { rate: lora.dropout, key } };
}
