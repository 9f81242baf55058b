// Statistics over all steps of a run, for each problem and for each stage that is tested. The rollouts of a step are read
// only once, because a recorded step never changes.
import { meanShareInterval, shareInterval } from '../../core/evaluation/intervals.js';
import { mean, standardErrors } from '../../core/rewards/rates.js';
import { testKey } from '../../core/rewards/suite.js';
import type { StepMetrics } from '../../core/schema/metrics.js';
import { digestJson } from '../../store/canonicalJson.js';
import type { Store } from '../../store/store.js';
import type { GroupSummary, ProblemChange, ProblemHistory, ProblemShare, StageHistory } from '../api.js';
import { groupSummary, readRollouts, unlessRemoved } from './rollouts.js';

interface Group extends Pick<GroupSummary, 'problemId' | 'stage' | 'index'> {
  step: number;
  reward: number;
  good: number;
  samples: number;
  caught: number;
  tests: number;
  valid: number;
  whole: number; // counts programs that pass their whole suite
  passed: [test: number, programs: number][]; // a key of each test, and how many programs pass it
}

export class History {
  private readonly known = new WeakMap<StepMetrics, Promise<Group[]>>();

  constructor(private readonly store: Store) {}

  /** Every group of every step. Steps whose artifacts were removed are left out. */
  async problems(steps: readonly StepMetrics[]): Promise<ProblemHistory> {
    const problems = new Map<string, ProblemHistory['problems'][number]>();
    for (const record of steps) {
      for (const [group, { problemId: id, reward, good }] of (await this.groupsOf(record)).entries()) {
        const problem = problems.get(id) ?? { id, points: [] };
        problems.set(id, problem);
        problem.points.push({ step: record.step, role: record.role, group, reward, good });
      }
    }
    const [first, last] = [await this.programs(steps.toReversed()), await this.programs(steps)];
    for (const [id, problem] of problems)
      problem.change = first.get(id) === last.get(id) ? undefined : changeOf(first.get(id)!, last.get(id)!);
    return { problems: [...problems.values()].sort((a, b) => (a.id < b.id ? -1 : 1)) };
  }

  /** The last group of programs of each problem. */
  async programs(steps: readonly StepMetrics[]): Promise<Map<string, Group>> {
    const groups: Group[] = [];
    for (const record of steps) if (record.role === 'generator') groups.push(...(await this.groupsOf(record)));
    return new Map(groups.map((group) => [group.problemId, group]));
  }

  /** Counts only steps that train the discriminator, because their programs have bugs to find. */
  async stages(steps: readonly StepMetrics[]): Promise<StageHistory> {
    const groups: Group[] = [];
    for (const record of steps) if (record.role === 'discriminator') groups.push(...(await this.groupsOf(record)));
    const stages = [...new Set(groups.flatMap(({ stage = [] }) => stage))].sort((a, b) => a - b);
    return {
      stages: stages.map((stage) => {
        const own = groups.filter((group) => group.stage === stage);
        const sum = (name: 'samples' | 'caught' | 'tests' | 'valid') => own.reduce((all, one) => all + one[name], 0);
        const [samples, caught] = [sum('samples'), sum('caught')];
        const { share } = standardErrors(own.map((group) => ({ share: group.caught / group.samples })));
        const recorded = own.map(({ step }) => step);
        return {
          stage,
          steps: [Math.min(...recorded), Math.max(...recorded)] as [number, number],
          ...{ samples, caught, tests: sum('tests'), valid: sum('valid') },
          ...meanShareInterval(caught / samples, share, own.length),
        };
      }),
    };
  }

  private groupsOf(record: StepMetrics): Promise<Group[]> {
    const groups = this.known.get(record) ?? this.readGroups(record);
    this.known.set(record, groups);
    groups.catch(() => this.known.delete(record));
    return groups;
  }

  private async readGroups(record: StepMetrics): Promise<Group[]> {
    const rollouts = await unlessRemoved(() => readRollouts(this.store, record, record.role === 'discriminator'));
    return (rollouts?.judged ?? []).map((one, index) => {
      const { problemId, stage, samples } = groupSummary(rollouts!, one, index);
      return {
        ...{ problemId, stage, index, step: record.step },
        reward: mean(samples.map(({ reward }) => reward)),
        good: mean(samples.map(({ good, of }) => (of === 0 ? 0 : good / of))),
        samples: samples.length,
        caught: samples.filter(({ outcome }) => outcome === 'caught').length,
        tests: samples.reduce((sum, { of }) => sum + of, 0),
        valid: samples.reduce((sum, { good }) => sum + good, 0),
        whole: samples.filter(({ outcome }) => outcome === 'passed').length,
        passed: one.suite.map(({ test }, t) => [
          Number.parseInt(digestJson(testKey(test)).slice(-8), 16), // short, because every group of a run is kept
          one.verdicts.filter((verdicts) => verdicts[t] === 'pass').length,
        ]),
      };
    });
  }
}

/** Undefined if the groups have no test in common. The programs of a group count, not their tests, which fail together. */
export function changeOf(before: Group, after: Group): ProblemChange | undefined {
  const known = new Map(after.passed);
  const common = new Set(before.passed.map(([test]) => test).filter((test) => known.has(test)));
  if (common.size === 0) return undefined;
  const shareOf = ({ step, index: group, samples: programs, whole, passed }: Group): ProblemShare => {
    const value = mean(passed.flatMap(([test, count]) => (common.has(test) ? count / programs : [])));
    return { step, group, programs, whole, value, ...shareInterval(value, programs) };
  };
  return { tests: common.size, before: shareOf(before), after: shareOf(after) };
}
