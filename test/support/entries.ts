// Helpers for tests of problem files.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GauntletError } from '../../core/base/errors.js';
import { type Entry, openEntries } from '../../data/entries.js';

/** Reads a whole problem set. */
export async function readSet(...given: Parameters<typeof openEntries>) {
  const set = await openEntries(...given);
  const entries: Entry[] = [];
  for await (const entry of set) entries.push(entry);
  const problems = entries.flatMap((entry) => ('problem' in entry ? [entry.problem] : []));
  const rejected = entries.filter((entry) => 'reason' in entry);
  return { format: set.format, unread: [...set.unread], entries, problems, rejected };
}

/** Asserts that work is refused as bad input in one line. */
export const refusesInOneLine = (work: Promise<unknown>, message: RegExp): Promise<void> =>
  assert.rejects(work, (error: GauntletError) => {
    assert.equal(error.code, 'BAD_INPUT', error.stack);
    assert.match(error.message, message);
    assert.ok(!error.message.includes('\n'), error.message);
    return true;
  });

/** A folder for the problem files of a suite. */
export function problemFiles(usualName = 'set.jsonl') {
  let folder = '';
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'gauntlet-problems-'));
  });
  after(() => rmSync(folder, { recursive: true }));
  /** @param content text or bytes; other values are written as JSON. @returns the path */
  const write = (content: unknown, name = usualName): string => {
    const path = join(folder, name);
    const isRaw = typeof content === 'string' || content instanceof Uint8Array;
    writeFileSync(path, isRaw ? content : JSON.stringify(content));
    return path;
  };
  const refuses = (content: unknown, message: RegExp, name?: string): Promise<void> =>
    refusesInOneLine(readSet(write(content, name)), message);
  return { write, refuses, path: (name: string): string => join(folder, name) };
}
