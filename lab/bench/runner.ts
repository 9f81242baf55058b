// Runs the rounds: each contender gets the same new tokens in turn. The order rotates each round, so that other load on the
// machine affects all contenders equally.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Case, Contender, Quantized, Work } from './cases.js';
import { type Job, makeJob } from './inputs.js';
import { busySeconds, foreignCores } from './machine.js';
import type { Peer } from './peers/peer.js';
import { type CaseResult, type Measured, ratiosOf, summarise } from './results.js';
import { SHAPES } from './shapes.js';

/** The answer of a contender to a job. */
export interface Outcome {
  seconds: number;
  tokens?: number[][];
  loss?: number; // for a step: the mean of −log p of the sampled tokens, scored before the update
  parts?: Record<string, number>; // seconds by part
  redecoded?: number; // the number of sampled tokens that were decoded again
}

export interface RunnerConfig {
  contenders: readonly Contender[];
  start: (name: Contender) => Peer; // starts a new process
  rounds: number;
  seconds: number; // the time limit of a case, checked after MIN_ROUNDS
  /** Each contender repeats short work for this time, to warm up caches and just-in-time compilers. */
  warmMs: number;
  settleMs: number; // the pause before each run, because threads of the last run may still use the CPU
  say: (line: string) => void;
}

const MIN_ROUNDS = 3;
const WARM_ROUNDS = 12; // the limit of warm-up rounds
const MOST_ROUNDS: Partial<Record<Case['group'], number>> = { growth: 3, step: 1 }; // a step takes minutes

export class Runner {
  private readonly peers = new Map<Contender, Peer>();
  private readonly opened = new Map<Contender, string>(); // the model that each running peer has open

  constructor(private readonly config: RunnerConfig) {}

  async hello(): Promise<Record<string, string>> {
    const versions: Record<string, string> = {};
    for (const name of this.config.contenders)
      Object.assign(versions, (await this.peer(name).request<Record<string, string>>('hello')).result);
    return versions;
  }

  /** If a contender fails, it is left out of the case, and the result contains the reason. */
  async run(c: Case, model: string): Promise<CaseResult> {
    const contenders = this.config.contenders.filter((name) => c.contenders.includes(name));
    const result: CaseResult = {
      id: c.id,
      group: c.group,
      shape: c.shape,
      work: c.work,
      series: c.series,
      goals: c.goals,
      figures: {},
      ratios: {},
      agreement: {},
      failures: {},
      foreignCores: 0,
      at: new Date().toISOString(),
    };
    if (c.group === 'memory') await this.memory(c, model, contenders, result);
    else await this.time(c, model, contenders, result);
    result.ratios = ratiosOf(result.figures);
    return result;
  }

  async close(): Promise<void> {
    await Promise.all([...this.peers.values()].map((peer) => peer.close()));
    this.peers.clear();
    this.opened.clear();
  }

  private async time(c: Case, model: string, names: readonly Contender[], result: CaseResult): Promise<void> {
    const alive = new Set(names);
    const spent = new Map(names.map((name) => [name, { seconds: [] as number[], cpu: [] as number[] }]));
    const foreign: number[] = [];
    const fail = (name: Contender, why: string): void => {
      alive.delete(name);
      result.failures[name] = why;
      this.config.say(`  ${why}`);
    };
    const jobOf = (work: Work, round: number): Job => makeJob(work, SHAPES[c.shape].vocab, c.id, round, model);
    if (!c.alone)
      for (const name of names)
        await this.open(name, model, c.quantization).catch((error: Error) => fail(name, error.message));
    const most = Math.min(MOST_ROUNDS[c.group] ?? Infinity, this.config.rounds);
    const began = performance.now();
    const warm = (): boolean => performance.now() - began > this.config.warmMs * names.length;
    let turn = 0;
    for (let round = c.alone ? 0 : -WARM_ROUNDS; round < most; round++) {
      if (round >= MIN_ROUNDS && performance.now() - began > this.config.seconds * 1000) break;
      if (round > -WARM_ROUNDS && round < 0 && warm()) continue;
      const job = jobOf(c.work, round);
      const outcomes = new Map<Contender, Outcome>();
      for (const name of rotated([...alive], turn++)) {
        try {
          if (c.alone) {
            await this.close();
            await this.open(name, model, c.quantization);
            await this.peer(name).request('run', { job: jobOf(c.alone, -1) });
          }
          await sleep(this.config.settleMs);
          const busy = busySeconds();
          const started = performance.now();
          const { result: outcome, cpuSeconds } = await this.peer(name).request<Outcome>('run', { job });
          outcomes.set(name, outcome);
          if (round < 0) continue;
          if (outcome.parts) result.parts = { ...result.parts, [name]: outcome.parts };
          if (outcome.redecoded !== undefined) result.redecoded = outcome.redecoded;
          spent.get(name)!.seconds.push(outcome.seconds);
          spent.get(name)!.cpu.push(cpuSeconds);
          foreign.push(foreignCores(busySeconds() - busy, cpuSeconds, (performance.now() - started) / 1000));
        } catch (error) {
          fail(name, (error as Error).message);
        }
      }
      if (c.work.kind === 'decode' || c.alone || round < 0) compare(outcomes, result);
    }
    for (const name of alive) result.figures[name] = summarise(spent.get(name)!.seconds, spent.get(name)!.cpu);
    result.foreignCores = foreign.reduce((a, b) => a + b, 0) / Math.max(1, foreign.length);
  }

  /** Each contender does the work twice in a new process, while no other process is open. */
  private async memory(c: Case, model: string, names: readonly Contender[], result: CaseResult): Promise<void> {
    await this.close();
    for (const name of names) {
      const peer = this.config.start(name);
      try {
        await peer.request('open', { model });
        for (const round of [0, 1])
          await peer.request('run', { job: makeJob(c.work, SHAPES[c.shape].vocab, c.id, round, model) });
        const { bytes } = (await peer.request<{ bytes: number }>('memory')).result;
        result.figures[name] = { seconds: [], median: bytes, min: bytes } satisfies Measured;
      } catch (error) {
        result.failures[name] = (error as Error).message;
        this.config.say(`  ${result.failures[name]}`);
      } finally {
        await peer.close();
      }
    }
  }

  /** Opens the model in every peer that has not opened it. Replaces peers that have ended. */
  private async open(name: Contender, model: string, quantization?: Quantized): Promise<void> {
    const key = `${model} ${(name === 'ours' && quantization) || ''}`;
    if (this.peers.get(name)?.ended !== undefined) {
      this.peers.delete(name);
      this.opened.delete(name);
    }
    if (this.opened.get(name) === key) return;
    this.opened.delete(name);
    await this.peer(name).request('open', { model, quantization });
    this.opened.set(name, key);
  }

  private peer(name: Contender): Peer {
    const known = this.peers.get(name);
    if (known) return known;
    const peer = this.config.start(name);
    this.peers.set(name, peer);
    return peer;
  }
}

const rotated = <T>(items: readonly T[], by: number): T[] => items.map((_, i) => items[(i + by) % items.length]!);

/** Records the worst agreement between our results and each peer's. */
export function compare(
  outcomes: ReadonlyMap<Contender, Outcome>,
  result: Pick<CaseResult, 'agreement' | 'scores'>,
): void {
  const ours = outcomes.get('ours');
  for (const [name, theirs] of outcomes) {
    if (name === 'ours' || !ours) continue;
    const difference =
      ours.loss === undefined || theirs.loss === undefined ? undefined : Math.abs(ours.loss - theirs.loss);
    if (ours.tokens && theirs.tokens) {
      const share = equalShare(ours.tokens, theirs.tokens);
      result.agreement[name] = Math.min(result.agreement[name] ?? 1, share);
      if (difference !== undefined) result.scores = { ...result.scores, [name]: difference };
    } else if (difference !== undefined) result.agreement[name] = Math.max(result.agreement[name] ?? 0, difference);
  }
}

/** The share of equal tokens at the same position of the same row. */
export function equalShare(a: readonly (readonly number[])[], b: readonly (readonly number[])[]): number {
  let [equal, all] = [0, 0];
  for (let row = 0; row < Math.max(a.length, b.length); row++) {
    const [x, y] = [a[row] ?? [], b[row] ?? []];
    all += Math.max(x.length, y.length);
    equal += x.filter((token, i) => token === y[i]).length;
  }
  return all === 0 ? 1 : equal / all;
}
