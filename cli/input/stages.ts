// The option that chooses the stages of a chain.
import { InvalidArgumentError, Option } from 'commander';
import { STAGES, type Stage } from '../../core/schema/chain.js';

/** '5', '1-5' or '1,3,5'. The last stage is 5, the code. */
function readStages(text: string): Stage[] {
  const stages = text.split(',').flatMap((part) => {
    const [, from, to = from] = /^([1-5])(?:-([1-5]))?$/.exec(part.trim()) ?? [];
    if (from === undefined || to! < from) throw notStages();
    return STAGES.filter((stage) => stage >= Number(from) && stage <= Number(to));
  });
  const isRising = stages.every((stage, i) => i === 0 || stage > stages[i - 1]!);
  if (isRising && stages.at(-1) === 5) return stages;
  throw notStages();
}

const notStages = (): InvalidArgumentError =>
  new InvalidArgumentError('It is not 5, 1-5, or a rising list that ends with 5, the code, such as 1,3,5.');

/** @param byDefault the stages without this option */
export const stagesOption = (byDefault: string): Option =>
  new Option('--stages <stages>', `stages to write: 5 is the code alone, 1-5 all (default: ${byDefault})`).argParser(
    readStages,
  );
