// Rows of files under test/ with one JSON object a line.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../infra/root.mjs';

export const rowsOf = <Row>(file: string): Row[] =>
  readFileSync(join(ROOT, 'test', file), 'utf8')
    .trim()
    .split('\n')
    .map((line): Row => JSON.parse(line));
