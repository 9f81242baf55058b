// The entry `gauntlet/engine` of the package: sampling, scoring and training of one model, without Temporal and sandbox.
import { z } from 'zod';
import { parseAs } from '../core/base/issues.js';
import { modelFolder } from '../data/modelFolder.js';
import type { Adapter, Engine, EngineOptions } from '../ml/engine/engine.js';
import { openEngine as openFolder } from '../ml/engine/ortEngine.js';
import { ggufFolder } from '../ml/gguf/folder.js';
import { MergedModel, mergedFolder } from '../ml/hf/mergedModel.js';
import { describeModel } from '../ml/hf/model.js';

export type { PolicyStats, Trajectory } from '../core/schema/trajectory.js';
export type * from '../ml/engine/engine.js';
export { readAdapterFolder } from '../ml/hf/peft.js';

const part = z.string().or(z.strictObject({ control: z.string() }));
const content = z.union([z.string(), z.array(part)], 'must be a text');
const messages = z.array(z.object({ role: z.enum(['system', 'user', 'assistant']), content })).min(1);
/** Checks an argument, since JavaScript has no types. @throws GauntletError BAD_INPUT that names the place in the argument */
const checked = <T>(schema: z.ZodType<T>, argument: object): T => parseAs(schema, argument, 'BAD_INPUT');

/**
 * Opens a model: 'tiny' or 'nested' (shipped), a folder in Hugging Face layout, or an id of the Hugging Face hub, which is
 * downloaded on first use. Its worker threads keep the process alive until `close`.
 * @throws GauntletError BAD_INPUT | BAD_MODEL | HUB_FAULT | OUT_OF_MEMORY | DEVICE_UNAVAILABLE
 */
export async function openEngine(model: string, options: EngineOptions = {}): Promise<Engine> {
  const engine = await openFolder(await ggufFolder(await modelFolder(model)), options);
  const chat = engine.chat.bind(engine);
  engine.chat = (given) => {
    const { openingTokens, continuationTokens, ...others } = chat(given);
    return {
      ...others,
      openingTokens: (given, begun) =>
        openingTokens(checked(z.object({ messages }), { messages: given }).messages, begun),
      continuationTokens: (given, end, begun) =>
        continuationTokens(checked(z.object({ content }), { content: given }).content, end, begun),
    };
  };
  return engine;
}

/** The files of the engine's model, with the adapter added to its unquantized weights: path in a model folder, and content. */
export const mergeAdapter = ({ info }: Engine, adapter: Adapter): ReturnType<typeof mergedFolder> =>
  mergedFolder(new MergedModel(describeModel(info.path), adapter));
