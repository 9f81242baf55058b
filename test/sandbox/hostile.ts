// The catalogue of hostile programs in the folder GAUNTLET_SHARED. The fast lane runs an eighth of it on each backend, and
// catalogue.system.test.ts runs all of it.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { judgePrograms } from '../../sandbox/judgePrograms.js';
import type { ProgramRow } from '../../sandbox/programRows.js';
import { parseProgramRow } from '../../sandbox/programRows.js';
import type { Sandbox } from '../../sandbox/sandbox.js';

export interface HostileRow extends ProgramRow {
  expect: string; // the allowed outcomes, separated by |
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

/** Every eighth row. Similar programs are neighbours in the catalogue, so every kind of outcome is included. */
export const anEighth = (rows: HostileRow[]): HostileRow[] => rows.filter((_, i) => i % 8 === 0);

type Kind = 'uid' | 'strict' | 'gvisor' | 'wasm';
/** Outcomes that differ from those of the catalogue, with the reason why none of them is a false pass. */
const DIFFERENCES: Partial<Record<Kind, Record<string, { outcome: string; why: string }>>> = {
  wasm: {
    segv: { outcome: 'fail', why: 'address 0 is readable in linear memory: the call answers, wrongly' },
    passwd: { outcome: 'error', why: 'there is no /etc/passwd' },
    caps: { outcome: 'error', why: 'there is no /proc' },
    mount: { outcome: 'error', why: 'there is no mount to call' },
    thread_left: { outcome: 'error', why: 'threads cannot be started' },
  },
  gvisor: {
    disk_inodes: { outcome: 'pass|fail|timeout', why: 'its /tmp has no limit of files' },
    pid1_mem: { outcome: 'pass|fail', why: 'its /proc shows more of other processes' },
    mount: { outcome: 'pass|fail', why: 'it has user namespaces' },
    caps: { outcome: 'pass|error', why: 'its /proc shows less of a process' },
    fork_bomb: { outcome: 'timeout|memory|error', why: 'many processes exhaust the memory of their container' },
    fork_bomb_return: {
      outcome: 'pass|memory|timeout|error',
      why: 'many processes exhaust the memory of their container',
    },
  },
};

const CANARY: ProgramRow = {
  id: 'canary',
  code: 'import json, builtins\ndef add(a, b): return a + b if len(json.dumps([a, b])) else 0',
  entry: 'add',
  tests: [
    [[1, 2], 3],
    [[5, 7], 12],
  ],
};

/**
 * Checks the outcome of every row. Also checks a known program on the same sandbox after each row, or after every eighth one
 * if each program has its own container.
 */
export async function checkHostile(rows: HostileRow[], sandbox: Sandbox, kind: Kind): Promise<void> {
  const every = kind === 'strict' ? 8 : 1;
  const ends = (row: HostileRow) => row.expect.includes('timeout');
  for (const [group, limits] of [
    [rows.filter(ends), { cpuSeconds: 0.4, wallSeconds: 1 }], // these programs end at a limit
    [rows.filter((row) => !ends(row)), { cpuSeconds: 5, caseCpuSeconds: 5, wallSeconds: 30 }], // must reach no limit on a busy machine
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
      for (const [i, { outcome, messages }] of outcomes.splice(0, batch.length).entries()) {
        const { id, expect } = batch[i]!;
        const expected = DIFFERENCES[kind]?.[id]?.outcome ?? expect;
        assert.ok(expected.split('|').includes(outcome), `${id}: ${outcome}, expected ${expected}: ${messages}`);
        if (!expect.split('|').includes('pass')) assert.notEqual(outcome, 'pass', id);
      }
      const canary = outcomes.shift()!;
      assert.equal(canary.outcome, 'pass', `canary after ${batch.map(({ id }) => id)}: ${canary.messages}`);
    }
  }
}
