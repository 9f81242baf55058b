// What a run has used, and the budgets that limit it.
import type { RunConfig } from '../schema/config.js';

export interface Usage {
  tokens: number; // how many were sampled
  seconds: number; // time of activities
  executions: number; // how many programs ran in the sandbox
}

/** What the output of a sandbox call says beside its usage. It differs between equal calls, so no stored result contains it. */
export interface SandboxAttempts {
  failedAttempts?: number; // how many attempts failed before one succeeded; absent if none failed
}

export const NO_USAGE: Usage = { tokens: 0, seconds: 0, executions: 0 };

export const addUsage = (a: Usage, b: Usage): Usage => ({
  tokens: a.tokens + b.tokens,
  seconds: a.seconds + b.seconds,
  executions: a.executions + b.executions,
});

/**
 * The budget that the next step would exceed; undefined if it exceeds no budget. A run ends before such a step, not after it.
 * @param next usage of the previous step of the same role
 */
export function exhaustedBudget(budget: RunConfig['budget'], used: Usage, next: Usage): string | undefined {
  const after = addUsage(used, next);
  for (const kind of ['tokens', 'seconds'] as const) {
    const limit = budget[kind];
    if (limit !== null && (after[kind] > limit || used[kind] >= limit))
      return `the budget of ${limit} ${kind} (${Math.round(used[kind])} used)`;
  }
  return undefined;
}

/** The usage that an output reports. */
export function usageOf(output: object): Usage {
  const { tokens = 0, seconds = 0, executions = 0 } = output as Partial<Usage>;
  return { tokens, seconds, executions };
}
