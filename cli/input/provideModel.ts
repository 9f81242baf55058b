// The folder of a model, which may be downloaded.
import { modelFolder } from '../../data/modelFolder.js';
import { withDownloadBar } from './downloadBar.js';

/** @throws GauntletError BAD_MODEL | HUB_FAULT */
export const provideModel = (model: string): Promise<string> =>
  withDownloadBar(model, (onProgress) => modelFolder(model, onProgress));
