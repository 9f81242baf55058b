// The files of a `keyhole` model except the weights: those of the shipped model of `nested`, with another vocabulary.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { shippedModelPath } from '../../../data/paths.js';
import type { TinyVocabulary } from './tokenizer.js';

const shipped = (file: string): object =>
  JSON.parse(readFileSync(join(shippedModelPath('nested'), file), 'utf8')) as object;

/** The config.json of a Qwen2 decoder with 0.8 M parameters. */
export const tinyConfig = ({ tokens }: TinyVocabulary): object => ({
  ...shipped('config.json'),
  vocab_size: tokens.length,
});

/** The `tokenizer.json` for the Hugging Face tokenizers library. */
export function tokenizerJson({ tokens }: TinyVocabulary): object {
  const { model, ...rest } = shipped('tokenizer.json') as { model: object };
  return { ...rest, model: { ...model, vocab: Object.fromEntries(tokens.map((token, id) => [token, id])) } };
}

export const tokenizerConfig = (): object => shipped('tokenizer_config.json');

/** The contents of config.json, tokenizer.json, tokenizer_config.json and generation_config.json. */
export function tinyModelFiles(vocabulary: TinyVocabulary): Map<string, string> {
  const files: [string, object][] = [
    ['config.json', tinyConfig(vocabulary)],
    ['tokenizer.json', tokenizerJson(vocabulary)],
    ['tokenizer_config.json', tokenizerConfig()],
    ['generation_config.json', shipped('generation_config.json')],
  ];
  return new Map(files.map(([name, content]) => [name, `${JSON.stringify(content, null, 2)}\n`]));
}
