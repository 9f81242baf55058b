// The folder of a model, which may be downloaded.
import { modelFolder } from '../../data/modelFolder.js';
import { ggufFolder } from '../../ml/gguf/folder.js';
import { withDownloadBar } from './downloadBar.js';

/** @throws GauntletError BAD_MODEL | HUB_FAULT */
export const provideModel = async (model: string): Promise<string> =>
  ggufFolder(await withDownloadBar(model, (onProgress) => modelFolder(model, onProgress)));
