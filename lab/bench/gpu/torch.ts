// Runs the same work with transformers and peft (lab/bench/peers/gpu_peer.py).

import { chains, gradientCase, rankOf, SAMPLING, type Setting, samplingCase, TRAINING } from './engine.js';
import { configOf } from './models.js';

/** Uses rows of one length with as many tokens as our chains, because torch would also compute the padding of shorter rows. */
const ROWS = 16;

export function torchPlan(device: string, small: boolean): object {
  const model = ({ model, precision }: Setting) => ({
    config: configOf(model, small),
    dtype: precision === 'f32' ? 'float32' : 'bfloat16',
    rank: rankOf(model),
  });
  const sampling = SAMPLING.map((setting) => {
    const rows = small ? 2 : 64;
    return { case: samplingCase(setting, rows), kind: 'generate', rows, length: 64, ...model(setting) };
  });
  const training = TRAINING.map((setting) => {
    const { vocab_size: vocab } = configOf(setting.model, small) as { vocab_size: number };
    const all = chains(vocab, small);
    const rows = Math.min(ROWS, all.length);
    const length = Math.round(all.reduce((sum, { tokens }) => sum + tokens.length, 0) / rows);
    const trained = all.flatMap(({ mask }) => mask).filter((m) => m === 1).length / (rows * length);
    return { case: gradientCase(setting), kind: 'gradient', rows, length, trained, ...model(setting) };
  });
  const cases = small ? [sampling[0], training[0]] : [...sampling, ...training];
  return { device, cases };
}
