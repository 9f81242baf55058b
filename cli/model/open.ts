// A model, and an adapter where one is named, open for as long as a command works with them.
import type { Adapter, Engine } from '../../ml/engine/engine.js';
import { openEngine } from '../../ml/engine/ortEngine.js';
import { createOutput } from '../output.js';
import { onInterrupt } from '../session.js';
import { readAdapterFolder } from './adapterFolder.js';
import { type EngineFlags, engineOptions } from './flags.js';

export interface OpenModel {
  engine: Engine;
  adapter?: Adapter;
  signal: AbortSignal; // Ctrl-C
}

/**
 * Closes the engine whatever happens. Ctrl-C ends the work, and the command with 130.
 * @throws {GauntletError} BAD_MODEL | BAD_ADAPTER | DEVICE_UNAVAILABLE | OUT_OF_MEMORY
 */
export async function withModel(
  flags: EngineFlags & { adapter?: string },
  work: (model: OpenModel) => Promise<void>,
): Promise<void> {
  const options = engineOptions(flags);
  const engine = await openEngine(flags.model, options);
  const stop = new AbortController();
  const release = onInterrupt(() => stop.abort());
  try {
    const adapter = flags.adapter === undefined ? undefined : await readAdapterFolder(engine, flags.adapter);
    await work({ engine, signal: stop.signal, ...(adapter && { adapter }) });
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    createOutput(true).note('stopped before the end');
    process.exitCode = 130;
  } finally {
    release();
    await engine.close();
  }
}
