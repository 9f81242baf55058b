// `gauntlet checkpoints export`: the base model with the adapter of a checkpoint merged into its weights.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { GauntletError } from '../../../core/base/errors.js';
import type { Role } from '../../../core/schema/chain.js';
import { adapterRole, modelOf } from '../../../core/schema/config.js';
import { EXPORT_TYPES, type ExportType, exportGguf } from '../../../ml/gguf/export.js';
import { WEIGHT_DTYPES, type WeightDtype } from '../../../ml/hf/checkpoint.js';
import { digestModel } from '../../../ml/hf/digest.js';
import { MergedModel, mergedFolder } from '../../../ml/hf/mergedModel.js';
import { describeModel } from '../../../ml/hf/model.js';
import { ADAPTER_FILES, readPeft } from '../../../ml/hf/peft.js';
import { loadCheckpoint } from '../../../store/checkpoints.js';
import { openStore } from '../../../store/openStore.js';
import { readRun } from '../../../store/runs.js';
import type { Store } from '../../../store/store.js';
import { writeFolder } from '../../export/folder.js';
import { CHECKPOINT, chooseCheckpoint } from '../../input/naming.js';
import { jsonOption } from '../../input/options.js';
import { provideModel } from '../../input/provideModel.js';
import { type StoreFlags, withStore } from '../../run/session.js';
import { createOutput, note } from '../../terminal/output.js';

interface Flags extends StoreFlags {
  format: 'safetensors' | 'gguf';
  out: string;
  type?: string;
  role: Role;
  model?: string;
}

const TYPES = { safetensors: WEIGHT_DTYPES, gguf: EXPORT_TYPES } as const;

export function addCheckpointExport(group: Command): void {
  const command = group
    .command('export')
    .description('merge the adapter of a checkpoint into its base model, for other programs')
    .argument(...CHECKPOINT)
    .addOption(
      new Option('--format <format>', 'safetensors: folder for transformers and vLLM; gguf: file for llama.cpp')
        .choices(Object.keys(TYPES))
        .makeOptionMandatory(),
    )
    .requiredOption('--out <path>', 'folder or file to write; must not exist')
    .addOption(
      new Option(
        '--type <type>',
        'of the weights; safetensors: F32, F16 or BF16 (default: as in the base); gguf: F32, F16 or Q8_0 (default: F16)',
      ).choices([...new Set(Object.values(TYPES).flat())]),
    )
    .addOption(
      new Option('--role <role>', 'whose adapter').choices(['generator', 'discriminator']).default('generator'),
    )
    .option('--model <folder>', 'base of the checkpoint, if it moved')
    .addOption(jsonOption());
  withStore(command, 'reads').action(async (named: string | undefined, flags: Flags) => {
    const { format, out, type } = flags;
    if (type !== undefined && !(TYPES[format] as readonly string[]).includes(type))
      throw new GauntletError('BAD_INPUT', `--type ${type}: ${format} has ${TYPES[format].join(', ')}`);
    checkFree(out, format);
    const { merged, name } = await openMerged(await openStore(flags.store), named, flags);
    if (format === 'gguf') exportGguf(merged, out, { type: (type ?? 'F16') as ExportType, name });
    else await writeFolder(out, mergedFolder(merged, type as WeightDtype | undefined));
    createOutput(flags.json).result({ checkpoint: name, role: flags.role, format, out }, () => out);
  });
}

function checkFree(out: string, format: Flags['format']): void {
  if (!existsSync(out)) return;
  if (format === 'safetensors' && statSync(out).isDirectory() && readdirSync(out).length === 0) return;
  throw new GauntletError('BAD_INPUT', `--out ${out}: it exists; name a new ${format === 'gguf' ? 'file' : 'folder'}`);
}

async function openMerged(
  store: Store,
  named: string | undefined,
  { role: asked, model: moved }: Flags,
): Promise<{ merged: MergedModel; name: string }> {
  const chosen = await chooseCheckpoint(store, named);
  const { files, metadata } = await loadCheckpoint(store, chosen.runId, chosen.name);
  const { config, modelDigest, discriminatorModelDigest } = await readRun(store, chosen.runId);
  const name = `${chosen.runId}/${metadata.name}`;
  const { quantization } = config.engine;
  if (quantization !== 'none')
    throw new GauntletError(
      'BAD_INPUT',
      `${name}: its adapter was trained on an ${quantization} base, which cannot be merged; use the adapter's folder, see gauntlet checkpoints show`,
    );
  const role = adapterRole(config, asked);
  const folder = await provideModel(moved ?? modelOf(config, role));
  const model = describeModel(folder);
  const expected = role === 'discriminator' ? (discriminatorModelDigest ?? modelDigest) : modelDigest;
  if ((await digestModel(folder)) !== expected)
    throw new GauntletError('BAD_MODEL', `${folder}: not the model that ${name} was trained on; name it with --model`);
  const adapter = Object.values(ADAPTER_FILES).flatMap((file) => {
    const bytes = files.get(`${role}/${file}`);
    return bytes ? [[file, bytes] as const] : [];
  });
  if ([...files.keys()].some((path) => path.startsWith(`${role}/stage_`)))
    note(`${name} has an adapter per stage; the export has the one that was trained last`);
  return { merged: new MergedModel(model, readPeft(model.config, new Map(adapter))), name };
}
