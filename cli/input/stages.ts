// The option that chooses the stages of a chain.
import { InvalidArgumentError, Option } from 'commander';
import { STAGES, type Stage } from '../../core/schema/chain.js';

/** Reads 5, 1-5 or 1,3,5. The last stage is 5, the code. */
function readStages(text: string): Stage[] {
  const [, from, to] = /^([1-5])-([1-5])$/.exec(text)?.map(Number) ?? [];
  const named = from === undefined ? text.split(',').map(Number) : STAGES.filter((s) => s >= from && s <= to!);
  const stages = STAGES.filter((stage) => named.includes(stage));
  if (stages.at(-1) === 5 && stages.join() === named.join()) return stages;
  throw new InvalidArgumentError('It is not 5, 1-5, or a rising list that ends with 5, the code, such as 1,3,5.');
}

/** @param byDefault the stages without this option */
export const stagesOption = (byDefault: string): Option =>
  new Option('--stages <stages>', `stages to write, e.g. 5 (the code alone) or 1-5 (default: ${byDefault})`).argParser(
    readStages,
  );
