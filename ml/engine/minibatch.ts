// How the gradients of a minibatch are computed: rows, parts that one run of the graph computes, and their sum.
import type { Trajectory } from '../../core/schema/trajectory.js';
import { joinRow, type RowPlan, splitRows } from '../train/branches.js';
import { GradientTotal } from '../train/statistics.js';
import type { Engine, GradientPart, GradientSums, LossConfig } from './engine.js';

export type GradientOptions = Parameters<Engine['gradients']>[1];

/** Depends on the sequences and the adapter's rank only. */
export interface GradientPlan {
  rows: Trajectory[];
  joined: RowPlan[] | undefined; // if rows have several sequences
  parts: number[][]; // indices of rows that one run of the graph computes
}

/** Adds the parts of a minibatch in their order. */
export class TotalOfParts {
  private readonly total: GradientTotal;
  private readonly ratios: number[][] = []; // of each row

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

/** A dropout mask, and a term of an average over sequences, belong to one sequence. */
export const canShareRows = ({ dropout, average }: LossConfig): boolean => !dropout?.rate && average !== 'sequence';

export function joinedRows(sequences: readonly Trajectory[], plans: readonly RowPlan[]): Trajectory[] {
  const perToken = sequences.map((sequence) => {
    const { tokens, advantage, advantages = tokens.map(() => advantage) } = sequence;
    return { ...sequence, advantages };
  });
  return plans.map((plan) => joinRow(perToken, plan));
}
