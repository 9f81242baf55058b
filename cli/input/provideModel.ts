// The folder of a model, which may be downloaded.
import { GauntletError } from '../../core/base/errors.js';
import { modelFolder } from '../../data/modelFolder.js';
import { quoted } from '../terminal/commandLine.js';
import { withDownloadBar } from './downloadBar.js';

/** @throws GauntletError BAD_MODEL | HUB_FAULT */
export async function provideModel(model: string): Promise<string> {
  if (/\.gguf$/i.test(model)) {
    const way = `npx gauntlet model import ${quoted(model)} --out DIR`;
    throw new GauntletError('BAD_MODEL', `${model}: import this file, and then name DIR: ${way}`);
  }
  return withDownloadBar(model, (onProgress) => modelFolder(model, onProgress));
}
