// Identifies a run, and its policy between two steps: ids, digests and a few numbers, never tensors or texts.
import type { Digest, Ref } from '../base/ref.js';
import type { PlannedStep } from '../run/schedule.js';
import type { Role, Stage } from './chain.js';
import type { EngineConfig, RunConfig } from './config.js';
import type { ProblemSet } from './problem.js';

/** The base of a role and the shape of its adapters. */
export interface BaseRef {
  model: string; // the name or folder with which this run opened it
  modelDigest: Digest;
  adapterConfig: Digest; // PEFT's adapter_config.json
}

/** Identifies a run and its inputs. */
export interface RunRef {
  runId: string;
  bases: Record<Role, BaseRef>; // both are equal unless the discriminator has its own base model
  engine: EngineConfig; // as requested; settings of the worker take precedence
  config: Ref<RunConfig>; // the identity of the run's configuration, see runIdentity
  problems: Ref<ProblemSet>;
}

/** The position of a step in the schedule. It is part of all random keys of the step. */
export interface Position extends PlannedStep {
  stage: Stage;
}

/** The position of a step that may belong to the warm start, which is stage 0. */
export interface UpdatePosition extends PlannedStep {
  stage: Stage | 0;
}

/** Adapters that earlier stages keep. Other stages use the adapter in training. */
export type FrozenAdapters = Partial<Record<Stage, Digest>>;

/** The adapters to sample with. Without any, the base model samples. */
export interface SamplingPolicy {
  adapter?: Digest;
  frozen?: FrozenAdapters;
}

export interface RoleState {
  adapter: Digest; // the bytes of adapter_model.safetensors
  frozen?: FrozenAdapters; // only with adapters per stage
  optimizer: Digest;
}

export type PolicyState = Record<Role, RoleState>;

/** Standard errors of rates, by the name of the rate. */
export type StandardErrors = Record<string, number>;
