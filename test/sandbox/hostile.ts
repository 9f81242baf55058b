// The catalogue of hostile programs, read from the folder that GAUNTLET_SHARED names.
import fs from 'node:fs';
import path from 'node:path';
import { judgePrograms, type ProgramOutcome } from '../../sandbox/judgePrograms.js';
import type { ProgramRow } from '../../sandbox/programRows.js';
import { parseProgramRow } from '../../sandbox/programRows.js';
import type { Sandbox } from '../../sandbox/sandbox.js';

export interface HostileRow extends ProgramRow {
  expect: string; // outcomes, separated by |
  why: string;
}

/** The rows, or undefined where GAUNTLET_SHARED is not set. */
export function hostileRows(): HostileRow[] | undefined {
  const shared = process.env.GAUNTLET_SHARED;
  if (!shared) return undefined;
  const text = fs.readFileSync(path.join(shared, 'data/hostile.jsonl'), 'utf8');
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.map((line) => {
    const row = JSON.parse(line) as { expect: string; why: string };
    return { ...parseProgramRow(row), expect: row.expect, why: row.why };
  });
}

/** Judges every row, each followed by a canary on the same sandbox; asserts on each pair through `check`. */
export async function judgeHostile(
  rows: HostileRow[],
  sandbox: Sandbox,
  check: (row: HostileRow, outcome: ProgramOutcome, canary: ProgramOutcome) => void,
): Promise<void> {
  const ends = (row: HostileRow) => row.expect.includes('timeout');
  for (const [group, limits] of [
    [rows.filter(ends), { cpuSeconds: 0.4, wallSeconds: 1 }], // they end at a limit: a small one
    [rows.filter((row) => !ends(row)), { cpuSeconds: 5, caseCpuSeconds: 5, wallSeconds: 30 }], // they must not meet one on a busy machine
  ] as const) {
    const programs = group.flatMap((row) => [row, CANARY]);
    const outcomes = await judgePrograms(programs, sandbox, { limits });
    for (const [i, row] of group.entries()) check(row, outcomes[2 * i]!, outcomes[2 * i + 1]!);
  }
}

export const CANARY: ProgramRow = {
  id: 'canary',
  code: 'import json, builtins\ndef add(a, b): return a + b if len(json.dumps([a, b])) else 0',
  entry: 'add',
  tests: [
    [[1, 2], 3],
    [[5, 7], 12],
  ],
};
