// The options that choose a model, the same for each command that opens one, and what they choose.
import { basename } from 'node:path';
import type { Command } from 'commander';
import { GauntletError } from '../../core/base/errors.js';
import type { SolveProblemsInput } from '../../core/schema/solving.js';
import { localModelFolder, portableName } from '../../data/modelFolder.js';
import { isFamily } from '../../data/paths.js';
import { loadCheckpoint } from '../../store/checkpoints.js';
import type { Store } from '../../store/store.js';
import { checkModel, readTemplateArguments } from './config.js';
import { CHECKPOINT, chooseCheckpoint, isCheckpointName } from './naming.js';
import {
  deviceOption,
  type Quantization,
  quantizeOption,
  renamedOption,
  sandboxOption,
  templateArgumentOption,
} from './options.js';

export interface ModelFlags {
  model?: string;
  quantize?: Quantization;
  templateArgument: string[];
}

const MODEL =
  "use this model: 'tiny' (the shipped one), a folder, an id of the hub, a run or RUN/NAME; with a checkpoint, the base that it is put on, if that moved";

/** Adds the argument [checkpoint], and the options of the model. */
export const withModel = (command: Command): Command =>
  command
    .argument(...CHECKPOINT)
    .option('--model <model>', MODEL)
    .addOption(renamedOption('--base <model>', '--model'))
    .addOption(quantizeOption('none; a checkpoint has the weights that it was trained on'))
    .addOption(templateArgumentOption())
    .addOption(sandboxOption("the run's; for a model docker, or wasm for shipped models if Docker is missing"))
    .addOption(deviceOption());

export interface ChosenModel {
  input: Pick<SolveProblemsInput, 'checkpoint' | 'untrained' | 'model' | 'templateArguments' | 'quantization'>;
  name: string; // RUN/NAME, or the name of the model
}

/**
 * Checks the model and the checkpoint. Replaces `best` and `latest` by the checkpoint that they name now: the run may go on.
 * @throws GauntletError
 */
export async function chooseModel(
  store: Store,
  named: string | undefined,
  { model: given, quantize, templateArgument }: ModelFlags,
): Promise<ChosenModel> {
  const isOwn = named === undefined && given !== undefined && !(await isModel(store, given)); // a run or a checkpoint
  const model = isOwn ? undefined : given;
  const hasCheckpoint = named !== undefined || model === undefined;
  const templateArguments = readTemplateArguments(templateArgument);
  const options = templateArgument.length > 0 && { templateArguments };
  if (model !== undefined) await checkModel(model, templateArguments);
  const base = model && portableName(model);
  if (!hasCheckpoint) {
    const input = { model: base, ...(quantize && { quantization: quantize }), ...options };
    return { input, name: base === model ? model! : basename(base!) };
  }
  const checkpoint = await chooseCheckpoint(store, isOwn ? given : named);
  const { runId, name } = (await loadCheckpoint(store, checkpoint.runId, checkpoint.name)).metadata;
  if (quantize !== undefined) {
    const reason = `${runId}/${name} has the weights that it was trained on: leave it out, or name a model with --model`;
    throw new GauntletError('BAD_INPUT', `--quantize ${quantize}: ${reason}`);
  }
  return { input: { checkpoint: { runId, name }, model: base, ...options }, name: `${runId}/${name}` };
}

/** Whether a text names a model and not a run or a checkpoint. A run goes before a folder of the same name. */
async function isModel(store: Store, text: string): Promise<boolean> {
  if (isFamily(text)) return true;
  const [run, name = 'best', ...rest] = text.split('/');
  if (rest.length > 0 || !isCheckpointName(name) || /\.gguf$/i.test(text)) return true;
  return !(await store.listRuns()).includes(run!) && localModelFolder(text) !== undefined;
}
