// Computes the catches of a record at a given cost.
import { GRID } from './measure.js';
import type { CatchesRecord, Cell, Prices } from './records.js';

const CALLS = 2; // two calls per input: the program, and the reference that judges it

/** The CPU seconds that the first `inputs` inputs cost, including their calls in the sandbox. */
export function secondsOf({ model, search, arm }: CatchesRecord, inputs: number, prices: Prices): number {
  const written = model ? Math.min(inputs, model.inputs) : 0;
  const ofModel = model ? written * model.tokens * model.seconds : 0;
  const drawn = (inputs - written) * (prices.draw[model ? 'dictionary' : arm] ?? 0);
  const searched = (search ?? 0) * prices.call.inProcess; // a search runs in one Python
  return ofModel + drawn + searched + inputs * CALLS * prices.call.sandbox;
}

/** The tokens that the first `inputs` inputs cost. */
export const tokensOf = ({ model }: CatchesRecord, inputs: number): number =>
  model ? Math.min(inputs, model.inputs) * model.tokens : 0;

/** The share of a cell's programs that `inputs` inputs catch. Interpolates linearly between the numbers of the grid. */
export function shareAt({ count, caught }: Cell, inputs: number): number {
  const next = GRID.findIndex((n) => n >= inputs);
  if (next < 0) return caught.at(-1)! / count;
  const [left, right] = [next === 0 ? 0 : GRID[next - 1]!, GRID[next]!];
  const [low, high] = [next === 0 ? 0 : caught[next - 1]!, caught[next]!];
  return (low + ((high - low) * (inputs - left)) / (right - left)) / count;
}

/** The number of inputs that the record's arm writes and runs in `seconds`, at most the number that was measured. */
export function inputsIn(record: CatchesRecord, seconds: number, prices: Prices): number {
  let [low, high] = [0, GRID.at(-1)! as number];
  for (let i = 0; i < 40; i++) {
    const middle = (low + high) / 2;
    if (secondsOf(record, middle, prices) <= seconds) low = middle;
    else high = middle;
  }
  return low;
}
