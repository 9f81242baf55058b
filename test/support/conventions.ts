// One problem for every calling convention. Its solution is the one that the example in the prompts describes.
import { type Calling, callingSchema } from '../../core/schema/calling.js';
import type { Problem } from '../../core/schema/problem.js';
import type { Value } from '../../core/schema/value.js';
import { rowsOf } from './rows.js';

interface Solved {
  name: string;
  solution: string;
  args: Value[];
  expected: Value;
}

export interface Convened extends Solved {
  problem: Pick<Problem, 'description' | 'functionSignature' | 'entry'> & { calling: Calling };
}

interface Row extends Solved {
  entry: string;
  functionSignature: string;
  calling: Partial<Calling>;
}

export const CONVENED = rowsOf<Row>('support/conventions.jsonl').map(
  ({ entry, functionSignature, calling, ...solved }): Convened => ({
    ...solved,
    problem: { description: 'See the example.', functionSignature, entry, calling: callingSchema.parse(calling) },
  }),
);
