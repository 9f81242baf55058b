// How the gradients of a minibatch are computed: rows, parts that one run of the graph computes, and their sum.
import type { Trajectory } from '../../core/schema/trajectory.js';
import { joinRow, type RowPlan, splitRows } from '../train/branches.js';
import { GradientTotal } from '../train/statistics.js';
import type { Engine, GradientPart, GradientSums, LossConfig } from './engine.js';

export type GradientOptions = Parameters<Engine['gradients']>[1];

/** How a minibatch is divided. It depends on the sequences and the adapter's rank only. */
export interface GradientPlan {
  rows: Trajectory[];
  joined: RowPlan[] | undefined; // undefined: every row has one sequence
  parts: number[][]; // indices of rows that one run of the graph computes
}

/** Adds the parts of a minibatch in their order. */
export class TotalOfParts {
  private readonly total: GradientTotal;
  private readonly ratios: number[][] = []; // one list per row

  constructor(
    private readonly plan: GradientPlan,
    private readonly options: GradientOptions,
  ) {
    this.total = new GradientTotal(options.adapter.values.length);
  }

  add({ index, sums }: GradientPart): void {
    this.total.add(sums);
    sums.ratios?.forEach((values, i) => {
      this.ratios[this.plan.parts[index]![i]!] = values;
    });
  }

  sums(sequences: readonly Trajectory[]): GradientSums {
    if (this.options.loss.supervised) return this.total.sums;
    const { joined } = this.plan;
    return { ...this.total.sums, ratios: joined ? splitRows(sequences, joined, this.ratios) : this.ratios };
  }
}

/** Dropout and an average over sequences need rows of one sequence: a mask and a mean belong to one sequence. */
export const canShareRows = ({ dropout, average }: LossConfig): boolean => !dropout?.rate && average !== 'sequence';

export function joinedRows(sequences: readonly Trajectory[], plans: readonly RowPlan[]): Trajectory[] {
  const perToken = sequences.map((sequence) => {
    const { tokens, advantage, advantages = tokens.map(() => advantage) } = sequence;
    return { ...sequence, advantages };
  });
  return plans.map((plan) => joinRow(perToken, plan));
}
