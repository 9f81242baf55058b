// Reads files under test/ that have one JSON object per line.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../infra/root.mjs';

export const rowsOf = <Row>(file: string): Row[] =>
  readFileSync(join(ROOT, 'test', file), 'utf8')
    .trim()
    .split('\n')
    .map((line): Row => JSON.parse(line));
