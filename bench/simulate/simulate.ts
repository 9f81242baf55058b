// Predicts a training step on several gpu workers. A batch has a fixed number of shards; free workers compute them at the
// same time, in rounds if there are fewer workers than shards, and one worker joins the results. The phases of a step
// follow each other, because each one needs the results of the one before, so a step is the sum of its phases, and no queue
// has to be simulated.
import { planStage } from '../../core/schedule.js';
import type { Role } from '../../core/schema/chain.js';
import type { RunConfig } from '../../core/schema/config.js';
import {
  forwardOperations,
  type ModelSize,
  type Parts,
  readOperations,
  trainOperations,
  weightBytes,
} from './parts.js';

export const MAX_SHARDS = 64; // of `engine.shards`
const HISTORY_EVENTS = 51_200; // Temporal's limit. A run continues as new between two steps, never within one.

/** Means of one sample. Lengths are in tokens. */
export interface Lengths {
  trained: number; // share of the samples that have an advantage; the others are left out of the update
  opening: number; // prompt of a chain
  continuation: number; // prompt of each later stage
  answer: number;
  testPrompt: number;
  test: number;
}

export interface Setting {
  config: RunConfig;
  size: ModelSize;
  parts: Parts;
  lengths: Lengths;
  workers: number; // with the role gpu
  shards?: number; // of a batch; default: as many as workers, up to 64
  bytesPerWeight: number; // 4: f32
  pricePerHour: number; // of one gpu worker
}

export interface Phase {
  name: string;
  seconds: number; // until the next phase can begin
  work: number; // seconds of model work of all workers together
  activities: number;
  inRow: number; // activities that follow each other; each one's dispatch is part of the seconds
}

export interface Prediction {
  workers: number;
  shards: number;
  phases: Phase[]; // of a mean step
  seconds: number; // of a mean step
  speedup: number; // against one worker
  idle: number; // share of the workers' time without model work
  events: number; // of a mean step
  historyBytes: number; // of a mean step
  exceedsHistory: boolean; // a step has more events than a history may have
  steps: number; // of the run
  hours: number; // of the run
  cost: number; // of the run
}

export function predict(setting: Setting): Prediction {
  const { config, parts, workers } = setting;
  const plan = planStage(config);
  const epochs = plan.at(-1)?.epoch ?? 0;
  const share = (role: Role): number => plan.filter((step) => step.role === role).length / plan.length;
  const shards = setting.shards ?? Math.min(workers, MAX_SHARDS);
  const phasesOf = (count: number, over: number): Phase[] => {
    const step = new Step(setting, count, over);
    return mixed([
      [share('generator'), step.generator()],
      [share('discriminator'), step.discriminator()],
      [epochs / plan.length, step.evaluation()],
    ]);
  };
  const phases = phasesOf(shards, workers);
  const seconds = total(phases, 'seconds');
  const events = total(phases, 'activities') * parts.eventsPerActivity.value;
  const steps = plan.length * config.schedule.stages.length;
  const hours = (steps * seconds) / 3600;
  return {
    workers,
    shards,
    phases,
    seconds,
    steps,
    hours,
    events,
    speedup: total(phasesOf(1, 1), 'seconds') / seconds,
    idle: 1 - total(phases, 'work') / (seconds * workers),
    historyBytes: events * parts.bytesPerEvent.value,
    exceedsHistory: events > HISTORY_EVENTS,
    cost: hours * workers * setting.pricePerHour,
  };
}

class Step {
  constructor(
    readonly setting: Setting,
    readonly shards: number,
    readonly workers: number,
  ) {}

  /**
   * A generator step samples chains, writes tests for one chain of each problem, judges, and trains on the chains. With one
   * shard, one activity samples the chains and writes the tests.
   */
  generator(): Phase[] {
    const { config, lengths } = this.setting;
    const { problems, samples } = config.batch.generator;
    const chains = problems * samples;
    const later = config.stages.length - 1;
    const tests = config.stages.length * config.testTurns;
    return [
      this.#chains('sample chains', problems, samples),
      ...(config.discriminator.enabled ? [this.#tests(problems, tests, this.shards > 1 ? 1 : -1)] : []),
      this.#judge(chains + problems), // the references judge the tests
      ...this.#update(chains, lengths.opening + later * lengths.continuation + (later + 1) * lengths.answer),
    ];
  }

  /** Chains, tests of one stage of one chain of each problem, verdicts, and an update on the tests. */
  discriminator(): Phase[] {
    const { config, lengths } = this.setting;
    const { problems, samples } = config.batch.discriminator;
    const select = this.#one('select chains', this.#programs(problems * samples));
    return [
      this.#chains('sample chains', problems, samples),
      select,
      this.#tests(problems, samples),
      this.#judge(2 * problems), // the selected program and the reference
      ...this.#update(problems * samples, lengths.testPrompt + lengths.test),
    ];
  }

  /** What the models write for an evaluation. The sandbox judges it beside the next step. */
  evaluation(): Phase[] {
    const { config } = this.setting;
    const { problems } = config.evaluation;
    const written = [
      this.#chains('evaluate', problems, 1),
      ...(config.discriminator.enabled ? [{ ...this.#tests(problems, config.stages.length), name: 'evaluate' }] : []),
    ];
    const judge = { name: 'evaluate', seconds: 0, work: 0, activities: 1, inRow: 0 };
    return [...(this.shards > 1 ? written : written.map(this.#merged)), judge];
  }

  #chains(name: string, problems: number, samples: number): Phase {
    const { config, lengths } = this.setting;
    const later = config.stages.length - 1;
    return this.#sharded(name, problems, (count) => {
      const rows = count * samples;
      const prompts = this.#read(rows * (lengths.opening + later * lengths.continuation));
      return prompts + (later + 1) * this.#write(rows, lengths.answer);
    });
  }

  /** @param more activities than a batch of its own has */
  #tests(problems: number, samples: number, more = 0): Phase {
    const { testPrompt, test } = this.setting.lengths;
    const phase = this.#sharded('sample tests', problems, (count) => {
      const rows = count * samples;
      return this.#read(rows * testPrompt) + this.#write(rows, test);
    });
    return {
      ...phase,
      activities: phase.activities + more,
      inRow: phase.inRow + more,
      seconds: phase.seconds + more * this.#activity,
    };
  }

  /** One activity, which one sandbox worker runs. */
  #judge(programs: number): Phase {
    return this.#one('judge', this.#programs(programs));
  }

  #update(samples: number, length: number): Phase[] {
    const { config, size, parts, lengths } = this.setting;
    const { epochs, minibatch } = config.ppo;
    const rows = Math.max(1, Math.round(samples * lengths.trained));
    const score = this.#sharded(
      'score',
      rows,
      (count) => (count * length * forwardOperations(size)) / parts.scoreOperations.value,
    );
    const sizes = Array.from({ length: Math.ceil(rows / minibatch) }, (_, i) =>
      Math.min(minibatch, rows - i * minibatch),
    );
    const minibatches = sizes.map((each) => this.#minibatch(each, length));
    const gradients = scaled(
      minibatches.map(([first]) => first),
      epochs,
    );
    const reduce = scaled(
      minibatches.map(([, second]) => second),
      epochs,
    );
    if (this.shards > 1) {
      const rewards = this.#one('rewards', 0);
      const record = scaled([this.#one('record', 0)], 2); // the update, and the step
      return [rewards, score, gradients, reduce, record];
    }
    return [this.#merged(score), this.#merged(gradients), this.#one('record', 0)]; // one activity does all of it
  }

  /** The gradients of the shards, and their sum, AdamW and the new state. The workers exchange all of it through the store. */
  #minibatch(rows: number, length: number): [Phase, Phase] {
    const { size, parts } = this.setting;
    const adapter = 4 * size.adapter;
    const together = size.rowsOfPart(length);
    const partCount = Math.ceil(rows / together);
    const transfer = (adapters: number): number => (adapters * adapter) / parts.storeBytes.value;
    const compute = (count: number): number =>
      (Math.min(count * together, rows) * length * trainOperations(size)) / parts.trainOperations.value;
    const shards = Math.min(this.shards, partCount);
    const most = Math.ceil(partCount / shards);
    const rounds = this.#rounds(shards);
    const seconds = rounds * (transfer(STATE) + compute(most) + transfer(most) + this.#activity);
    const work = (rows * length * trainOperations(size)) / parts.trainOperations.value;
    const reduce = transfer(partCount) + transfer(2 * STATE) + this.#activity; // reads the old state, writes the new one
    return [
      { name: 'gradients', seconds, work, activities: this.shards, inRow: rounds },
      { name: 'reduce', seconds: reduce, work: 0, activities: 1, inRow: 1 },
    ];
  }

  /** How many shards the busiest worker computes, one after the other. */
  #rounds = (shards: number): number => Math.ceil(shards / this.workers);

  /** The slowest shard of each round decides. With several shards, one more activity joins what they stored. */
  #sharded(name: string, items: number, secondsOf: (count: number) => number): Phase {
    const shards = Math.min(this.shards, items);
    const larger = items % shards;
    const few = Math.floor(items / shards);
    const work = (larger > 0 ? larger * secondsOf(few + 1) : 0) + (shards - larger) * secondsOf(few);
    const join = this.shards > 1 ? 1 : 0;
    const rounds = this.#rounds(shards);
    return {
      name,
      seconds: rounds * secondsOf(Math.ceil(items / shards)) + (rounds + join) * this.#activity,
      work,
      activities: this.shards + join,
      inRow: rounds + join,
    };
  }

  /** Work within another activity. */
  #merged = ({ name, work }: Phase): Phase => ({ name, seconds: work, work, activities: 0, inRow: 0 });
  #one = (name: string, seconds: number): Phase => ({
    name,
    seconds: seconds + this.#activity,
    work: 0,
    activities: 1,
    inRow: 1,
  });
  #programs = (count: number): number => count / this.setting.parts.programs.value;

  #read(tokens: number): number {
    const { size, parts } = this.setting;
    return (tokens * readOperations(size)) / parts.readOperations.value;
  }

  #write(rows: number, tokens: number): number {
    const { size, parts, bytesPerWeight } = this.setting;
    const weights = weightBytes(size, bytesPerWeight) / parts.weightBytes.value;
    return tokens * (weights + (rows * forwardOperations(size)) / parts.writeOperations.value);
  }

  get #activity(): number {
    return this.setting.parts.activitySeconds.value;
  }
}

const STATE = 3; // adapters in the state of an update: the adapter, and two moments

type Quantity = 'seconds' | 'work' | 'activities' | 'inRow';

const total = (phases: readonly Phase[], field: Quantity): number =>
  phases.reduce((sum, phase) => sum + phase[field], 0);

const scaled = (phases: readonly Phase[], factor: number): Phase => ({
  name: phases[0]!.name,
  seconds: factor * total(phases, 'seconds'),
  work: factor * total(phases, 'work'),
  activities: factor * total(phases, 'activities'),
  inRow: factor * total(phases, 'inRow'),
});

/** The phases of a mean step, by name. */
function mixed(kinds: readonly [share: number, phases: Phase[]][]): Phase[] {
  const all = new Map<string, Phase>();
  for (const [share, phases] of kinds)
    for (const phase of phases) {
      const known = all.get(phase.name);
      const added = scaled([phase], share);
      all.set(phase.name, known ? scaled([known, added], 1) : added);
    }
  return [...all.values()].filter(({ activities, seconds }) => activities + seconds > 0);
}

/** Tokens that a mean step samples, without evaluations. */
export function sampledTokens(config: RunConfig, { answer, test }: Lengths): number {
  const { generator, discriminator } = config.batch;
  const chain = config.stages.length * answer;
  const tests = config.discriminator.enabled ? config.stages.length * config.testTurns * test : 0;
  const tokens = {
    generator: generator.problems * (generator.samples * chain + tests),
    discriminator: discriminator.problems * discriminator.samples * (chain + test),
  };
  const plan = planStage(config);
  return plan.reduce((sum, { role }) => sum + tokens[role], 0) / plan.length;
}
