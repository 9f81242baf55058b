// The rows of scoring and training. Sequences with the same opening, like the samples of one problem, share a row. It has the
// opening once, then a branch for each sequence. Attention hides the other branches, and positions continue from the opening. So
// the results equal those of separate rows up to rounding, and the opening is computed once.

/** Arrays are aligned with tokens. Entry 0 is never trained. */
export interface Masked {
  tokens: number[];
  mask: number[]; // 1: the token is trained, or scored
}

/** One sequence, or the opening of several sequences followed by their branches. */
export interface Row extends Masked {
  branches?: number[]; // the index of the first token of each branch
}

/** Names the sequences that share a row. `opening` is the number of tokens that they share. */
export interface RowPlan {
  members: number[]; // the indices of the sequences
  opening: number;
}

export const MAX_ROW_TOKENS = 1024; // attention computes what it hides, so longer rows would cost more than they save

/**
 * Plans rows in the order of their first sequences. A branch starts with the token that predicts the first trained one, so every
 * position that predicts a trained token belongs to one branch. A short opening is not shared.
 */
export function planRows(sequences: readonly Masked[]): RowPlan[] {
  const rows: RowPlan[] = [];
  const open = new Map<string, { row: RowPlan; size: number }>();
  sequences.forEach(({ tokens, mask }, i) => {
    const opening = mask.findIndex((m, t) => t > 0 && m !== 0) - 1;
    const own = tokens.length - opening;
    const name = opening >= own ? tokens.slice(0, opening).join() : `sequence ${i}`;
    const known = open.get(name);
    if (known && known.size + own <= MAX_ROW_TOKENS) {
      known.row.members.push(i);
      known.size += own;
      return;
    }
    const row = { members: [i], opening: Math.max(0, opening) };
    rows.push(row);
    open.set(name, { row, size: tokens.length });
  });
  return rows;
}

/** Makes the row of a plan. It has every array that all its sequences have. */
export function joinRow<S extends Masked>(sequences: readonly S[], { members, opening }: RowPlan): S & Row {
  const parts = members.map((i) => sequences[i]!);
  const first = parts[0]!;
  if (parts.length === 1) return first;
  const branches: number[] = [];
  let at = opening;
  for (const { tokens } of parts) {
    branches.push(at);
    at += tokens.length - opening;
  }
  const names = Object.entries(first).flatMap(([name, value]) => (Array.isArray(value) ? [name as keyof S] : []));
  const joined = names.map((name) => {
    const arrays = parts.flatMap((part) => (part[name] ? [part[name] as number[]] : []));
    const whole = [...arrays[0]!.slice(0, opening), ...arrays.flatMap((values) => values.slice(opening))];
    return [name, arrays.length === parts.length ? whole : undefined];
  });
  return { ...first, ...Object.fromEntries(joined), branches };
}

/** Divides the results of rows, one number per token, among the sequences. @returns results in the order of the sequences */
export function splitRows(
  sequences: readonly Masked[],
  plans: readonly RowPlan[],
  values: readonly (readonly number[])[],
): number[][] {
  const results: number[][] = [];
  plans.forEach((plan, r) => {
    splitRow(sequences, plan, values[r]!).forEach((own, i) => {
      results[plan.members[i]!] = own;
    });
  });
  return results;
}

/** Divides the results of one row. They are 0 up to the first token of the branch. */
function splitRow(sequences: readonly Masked[], { members, opening }: RowPlan, values: readonly number[]): number[][] {
  if (members.length === 1) return [[...values]];
  let at = opening;
  return members.map((i) => {
    const own = values.slice(at + 1, at + sequences[i]!.tokens.length - opening);
    at += own.length + 1;
    return [...new Array<number>(opening + 1).fill(0), ...own];
  });
}
