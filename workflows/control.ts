// What people may ask of a run while it goes on: validated updates (and signals without an answer) to the run, which
// keeps the list and hands it to the stage at work. Both sides of that are here.
import { defineSignal, defineUpdate, setHandler } from '@temporalio/workflow';
import {
  CARRY,
  type Control,
  changed,
  checkChange,
  DECISIONS,
  type Decision,
  isPaused,
  type Request,
  requestsAmong,
} from '../core/control.js';
import { GauntletError } from '../core/errors.js';
import type { RunConfig } from '../core/schema/config.js';
import type { RunFailure } from '../core/schema/run.js';

/** Each answers with one line that says what will happen. */
export const pauseUpdate = defineUpdate<string>('pause');
export const resumeUpdate = defineUpdate<string>('resume');
export const stopUpdate = defineUpdate<string>('stop');
/** Fields of the configuration, nested: `{ppo: {learningRate: 0.001}}`. */
export const changeUpdate = defineUpdate<string, [Record<string, unknown>]>('change');
/** What to do with the activity that a waiting run names. */
export const decideUpdate = defineUpdate<string, [Decision]>('decide');

export const carrySignal = defineSignal<[Request[]]>(CARRY);

const pauseSignal = defineSignal('pauseRun');
const resumeSignal = defineSignal('resumeRun');
const stopSignal = defineSignal('stopRun');

/** From a run to its stage: everything that was asked so far. */
export const controlSignal = defineSignal<[Control]>('control');

/** From a run to its stage: to end between two steps, and be begun again. */
export const handBackSignal = defineSignal('handBack');

export interface RunControlHooks {
  state(): { step: number; failure?: RunFailure | undefined };
  /** Something was asked: the stage at work is to hear of it. */
  onAsked(control: Control): void;
}

/** The run's side. */
export class RunControl {
  private config: RunConfig | undefined; // as it will be once everything asked has been done
  private readonly carried: Request[] = [];
  private ended = false;
  private decided: RunFailure | undefined; // has had its decision

  constructor(
    private readonly hooks: RunControlHooks,
    readonly control: Control = { requests: [], decisions: [] }, // asked so far
  ) {
    const open = (): void => this.refuseAtEnd();
    setHandler(pauseUpdate, () => this.ask('pause'), { validator: open });
    setHandler(resumeUpdate, () => this.ask('resume'), { validator: () => this.refuseUnpaused() });
    setHandler(stopUpdate, () => this.ask('stop'), { validator: open });
    setHandler(changeUpdate, (fields) => this.askChange(fields), { validator: (fields) => this.refuseChange(fields) });
    setHandler(decideUpdate, (decision) => this.decide(decision), {
      validator: (decision) => this.refuseDecision(decision),
    });
    setHandler(carrySignal, (requests) => this.carry(requestsAmong(requests)));
    setHandler(pauseSignal, () => void (this.ended || this.ask('pause')));
    setHandler(resumeSignal, () => void (this.ended || this.ask('resume')));
    setHandler(stopSignal, () => void (this.ended || this.ask('stop')));
  }

  prepared(config: RunConfig): void {
    this.config = afterAll(config, this.carried);
  }

  /** Nothing asked from now on could take effect. */
  close(): void {
    this.ended = true;
  }

  private carry(requests: readonly Request[]): void {
    this.carried.push(...requests);
    for (const request of requests) this.push(request);
  }

  private ask(kind: 'pause' | 'resume' | 'stop'): string {
    this.push({ kind, at: new Date().toISOString() });
    const { step } = this.hooks.state();
    if (kind === 'resume') return `goes on after step ${step}`;
    return `${kind === 'pause' ? 'pauses' : 'stops'} after the step being done (${step} are done)`;
  }

  private askChange(fields: Record<string, unknown>): string {
    this.config = changed(this.config!, fields);
    this.push({ kind: 'change', fields, at: new Date().toISOString() });
    return `takes effect from the next step on (${this.hooks.state().step} are done)`;
  }

  private decide(decision: Decision): string {
    const { failure } = this.hooks.state();
    this.decided = failure;
    this.control.decisions.push(decision);
    this.hooks.onAsked(this.control);
    return `${decision}: ${failure?.activity}`;
  }

  private push(request: Request): void {
    this.control.requests.push(request);
    this.hooks.onAsked(this.control);
  }

  private refuseAtEnd(): void {
    if (this.ended) throw new GauntletError('BAD_INPUT', 'the last step is done: nothing is left to steer');
  }

  private refuseUnpaused(): void {
    this.refuseAtEnd();
    if (!isPaused(this.control.requests)) throw new GauntletError('BAD_INPUT', 'the run is not paused');
  }

  private refuseChange(fields: unknown): void {
    this.refuseAtEnd();
    if (this.config === undefined) throw new GauntletError('BAD_INPUT', 'the run is being prepared: ask again');
    checkChange(this.config, fields);
  }

  private refuseDecision(decision: unknown): void {
    const { failure } = this.hooks.state();
    if (!DECISIONS.includes(decision as Decision)) {
      throw new GauntletError('BAD_INPUT', `decide: one of ${DECISIONS.join(', ')}`);
    }
    if (failure === undefined || failure === this.decided)
      throw new GauntletError('BAD_INPUT', 'no failure waits for a decision');
    if (decision === 'skip' && !failure.inStep) {
      throw new GauntletError('BAD_INPUT', `${failure.activity} is not part of a step that could be left out`);
    }
  }
}

/** The configuration as it will be once all of this has been done. */
export const afterAll = (config: RunConfig, requests: readonly Request[]): RunConfig =>
  requests.reduce((now, request) => (request.kind === 'change' ? changed(now, request.fields) : now), config);
