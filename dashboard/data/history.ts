// Statistics over all steps of a run, for each problem and for each stage that is tested. The rollouts of a step are read
// only once, because a recorded step never changes.
import { mean } from '../../core/rewards/rates.js';
import type { StepMetrics } from '../../core/schema/metrics.js';
import type { Store } from '../../store/store.js';
import type { GroupSummary, ProblemHistory, StageHistory } from '../api.js';
import { groupSummary, readRollouts, unlessRemoved } from './rollouts.js';

interface Group extends Pick<GroupSummary, 'problemId' | 'stage'> {
  reward: number;
  good: number;
  samples: number;
  caught: number;
  tests: number;
  valid: number;
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
    return { problems: [...problems.values()].sort((a, b) => (a.id < b.id ? -1 : 1)) };
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
        return { stage, samples: sum('samples'), caught: sum('caught'), tests: sum('tests'), valid: sum('valid') };
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
        problemId,
        stage,
        reward: mean(samples.map(({ reward }) => reward)),
        good: mean(samples.map(({ good, of }) => (of === 0 ? 0 : good / of))),
        samples: samples.length,
        caught: samples.filter(({ outcome }) => outcome === 'caught').length,
        tests: samples.reduce((sum, { of }) => sum + of, 0),
        valid: samples.reduce((sum, { good }) => sum + good, 0),
      };
    });
  }
}
