// The catalogue of hostile programs in the folder GAUNTLET_SHARED.
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

/** The rows, or undefined if GAUNTLET_SHARED is not set. */
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

/**
 * Judges every row, with a known program on the same sandbox after each row, or after every eighth one if each program
 * has its own container. Calls `check` for each row with the next canary.
 */
export async function judgeHostile(
  rows: HostileRow[],
  sandbox: Sandbox,
  check: (row: HostileRow, outcome: ProgramOutcome, canary: ProgramOutcome) => void,
  ownContainers = false,
): Promise<void> {
  const every = ownContainers ? 8 : 1;
  const ends = (row: HostileRow) => row.expect.includes('timeout');
  for (const [group, limits] of [
    [rows.filter(ends), { cpuSeconds: 0.4, wallSeconds: 1 }], // they end at a limit
    [rows.filter((row) => !ends(row)), { cpuSeconds: 5, caseCpuSeconds: 5, wallSeconds: 30 }], // they must not reach a limit on a busy machine
  ] as const) {
    const batches = Array.from({ length: Math.ceil(group.length / every) }, (_, i) =>
      group.slice(i * every, (i + 1) * every),
    );
    const outcomes = await judgePrograms(
      batches.flatMap((batch) => [...batch, CANARY]),
      sandbox,
      { limits },
    );
    for (const batch of batches) {
      const judged = outcomes.splice(0, batch.length);
      const canary = outcomes.shift()!;
      for (const [i, row] of batch.entries()) check(row, judged[i]!, canary);
    }
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
