// A model, with its adapter if one is given, open while a command uses it.
import type { Adapter, Engine } from '../../ml/engine/engine.js';
import { openEngine } from '../../ml/engine/ortEngine.js';
import { provideModel } from '../provideModel.js';
import { interruptible } from '../session.js';
import { readAdapterFolder } from './adapterFolder.js';
import { type EngineFlags, engineOptions } from './flags.js';

export interface OpenModel {
  engine: Engine;
  adapter?: Adapter;
  signal: AbortSignal; // Ctrl-C
}

/** @throws {GauntletError} BAD_MODEL | BAD_ADAPTER | DEVICE_UNAVAILABLE | OUT_OF_MEMORY */
export async function withModel(
  flags: EngineFlags & { adapter?: string },
  work: (model: OpenModel) => Promise<void>,
): Promise<void> {
  const engine = await openEngine(await provideModel(flags.model), engineOptions(flags));
  await interruptible(async ({ signal }) => {
    try {
      const adapter = flags.adapter === undefined ? undefined : await readAdapterFolder(engine, flags.adapter);
      await work({ engine, signal, adapter });
    } finally {
      await engine.close();
    }
  });
}
