// Measures rounds of executions: every contender runs the same programs; the order rotates each round.
import { setTimeout as sleep } from 'node:timers/promises';
import { busySeconds, stolenSeconds } from '../machine.js';
import type { Peer } from '../peers/peer.js';
import type { Ran } from '../peers/sandboxPeer.js';
import { median, quantile } from '../results.js';
import type { Contender } from './contenders.js';
import { executionsFrom } from './executions.js';

export interface Figure {
  contender: Contender;
  inFlight: number;
  executions: number; // in all rounds
  perSecond: number; // median of the rounds
  rounds: number[]; // executions per second of each
  p50: number; // seconds, of all executions
  p95: number;
  bytes: number; // peak of the process and its children so far
}
export interface SandboxFigures {
  figures: Figure[];
  failures: Partial<Record<Contender, string>>;
  foreignCores: number; // used by other processes between runs, mean
  stolenCores?: number | undefined; // taken by the host of a virtual machine, mean
}

export interface MeasureConfig {
  contenders: readonly Contender[];
  start: (name: Contender) => Peer;
  levels: readonly number[]; // in flight
  rounds: number;
  roundSeconds: number; // approximate time of a contender per round
  settleMs: number;
  say: (line: string) => void;
}

const WARM = 12; // executions before the first round, run twice; the second run gives the speed
const MOST = 1000;

export async function measure(config: MeasureConfig): Promise<SandboxFigures> {
  const { levels, rounds, roundSeconds, settleMs, say } = config;
  const peers = new Map(config.contenders.map((name) => [name, config.start(name)]));
  const failures: SandboxFigures['failures'] = {};
  const figures: Figure[] = [];
  const foreign: number[] = [];
  const [stolen, started] = [stolenSeconds(), performance.now()];
  const guarded = async <T>(name: Contender, work: (peer: Peer) => Promise<T>): Promise<T | undefined> => {
    try {
      return await work(peers.get(name)!);
    } catch (error) {
      failures[name] = (error as Error).message;
      say(`  ${failures[name]}`);
      await peers.get(name)?.close();
      peers.delete(name);
      return undefined;
    }
  };
  try {
    for (const name of config.contenders) await guarded(name, (peer) => peer.request('open'));
    for (const inFlight of levels) {
      const runs = new Map<Contender, Ran[]>();
      const counts = new Map<Contender, number>();
      for (const name of [...peers.keys()]) {
        const pace = await guarded(name, async (peer) => {
          await execute(peer, 0, WARM, inFlight);
          return execute(peer, 0, WARM, inFlight);
        });
        if (pace)
          counts.set(name, Math.min(MOST, Math.max(2 * inFlight, Math.round((roundSeconds * WARM) / pace.seconds))));
      }
      for (let round = 0; round < rounds; round++) {
        const names = [...peers.keys()];
        for (const name of names.map((_, i) => names[(i + round) % names.length]!)) {
          const busy = busySeconds();
          await sleep(settleMs);
          foreign.push((busySeconds() - busy) / (settleMs / 1000));
          const count = counts.get(name)!;
          const ran = await guarded(name, (peer) => execute(peer, round * count, count, inFlight));
          if (ran) runs.set(name, [...(runs.get(name) ?? []), ran]);
        }
      }
      for (const [name, all] of runs) {
        if (failures[name] !== undefined) continue;
        const memory = await guarded(name, (peer) => peer.request<{ bytes: number }>('memory', { inFlight }));
        if (!memory) continue;
        figures.push(figureOf(name, inFlight, all, memory.result.bytes));
        say(line(figures.at(-1)!));
      }
    }
  } finally {
    await Promise.all([...peers.values()].map((peer) => peer.close()));
  }
  const [stolenInAll, seconds] = [stolenSeconds(), (performance.now() - started) / 1000];
  return {
    figures,
    failures,
    foreignCores: foreign.reduce((a, b) => a + b, 0) / Math.max(1, foreign.length),
    stolenCores: stolen === undefined || stolenInAll === undefined ? undefined : (stolenInAll - stolen) / seconds,
  };
}

/** @throws Error on a wrong verdict */
async function execute(peer: Peer, first: number, count: number, inFlight: number): Promise<Ran> {
  const executions = executionsFrom(first, count);
  const { result } = await peer.request<Ran>('run', { executions, inFlight });
  const wrong = executions.find(({ good }, i) => result.good[i] !== good);
  if (wrong) throw new Error(`${peer.name}: ${wrong.id} was judged ${wrong.good ? 'wrong' : 'good'}`);
  return result;
}

export function figureOf(contender: Contender, inFlight: number, runs: readonly Ran[], bytes: number): Figure {
  const rounds = runs.map(({ latencies, seconds }) => latencies.length / seconds);
  const all = runs.flatMap(({ latencies }) => latencies);
  const [p50, p95] = [quantile(all, 0.5), quantile(all, 0.95)];
  return { contender, inFlight, executions: all.length, perSecond: median(rounds), rounds, p50, p95, bytes };
}

export const line = ({ contender, inFlight, perSecond, p50, p95, bytes }: Figure): string =>
  `${contender}, ${inFlight} in flight: ${perSecond.toFixed(1)}/s, p50 ${(p50 * 1000).toFixed(1)} ms, p95 ${(p95 * 1000).toFixed(1)} ms, ${Math.round(bytes / 1e6)} MB`;
