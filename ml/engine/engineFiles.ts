// What an engine does without computing: text as tokens, and adapters, new, in files and checked.
import { GauntletError } from '../../core/errors.js';
import { RandomStream } from '../../core/random.js';
import { type ChatFormat, loadChatFormat } from '../hf/chat.js';
import type { ModelFiles } from '../hf/model.js';
import { readPeft, writePeft } from '../hf/peft.js';
import { loadTokenizer, type TextTokenizer } from '../hf/tokenizer.js';
import { layoutSize } from '../nn/lora.js';
import { adapterLayout } from '../nn/valueHead.js';
import { newMoments } from '../optim/adamw.js';
import type { Adapter, Engine, OptimizerState } from './engine.js';

type Text = 'encode' | 'decode' | 'openingTokens' | 'continuationTokens';
type Adapters = 'initAdapter' | 'newOptimizerState' | 'exportAdapter' | 'importAdapter';

export class EngineFiles implements Pick<Engine, Text | Adapters> {
  private tokenizer: TextTokenizer | undefined;
  private chat: ChatFormat | undefined;

  constructor(protected readonly model: ModelFiles) {}

  encode(text: string): number[] {
    return this.text().encode(text);
  }
  decode(tokens: number[]): string {
    return this.text().decode(tokens);
  }
  openingTokens(messages: { role: 'system' | 'user' | 'assistant'; content: string }[]): number[] {
    return this.format().openingTokens(messages);
  }
  continuationTokens(content: string, previousFinished: boolean): number[] {
    return this.format().continuationTokens(content, previousFinished);
  }
  private text(): TextTokenizer {
    this.tokenizer ??= loadTokenizer(this.model.path);
    return this.tokenizer;
  }
  private format(): ChatFormat {
    this.chat ??= loadChatFormat(this.model.path, this.text(), this.model.eosTokens);
    return this.chat;
  }

  /** As PEFT starts them: A uniform in ±1/√in, B zero. A value head starts at zero, too. */
  initAdapter(config: { rank: number; alpha: number; valueHead?: boolean }, seed: number): Adapter {
    const { rank, alpha, valueHead } = config;
    const layout = adapterLayout(this.model.config, config);
    const values = new Float32Array(layoutSize(layout));
    for (const { name, shape, offset } of layout) {
      if (!name.includes('.lora_A.')) continue;
      const stream = new RandomStream(seed, 'lora', name);
      const bound = 1 / Math.sqrt(shape[1]!);
      for (let i = 0; i < shape[0]! * shape[1]!; i++) values[offset + i] = (2 * stream.uniform() - 1) * bound;
    }
    return { rank, alpha, values, ...(valueHead ? { valueHead } : {}) };
  }
  newOptimizerState(adapter: Adapter): OptimizerState {
    return newMoments(adapter.values.length);
  }
  exportAdapter(adapter: Adapter): Map<string, Uint8Array> {
    this.checkAdapter(adapter);
    return writePeft(this.model.config, adapter, baseName(this.model.path));
  }
  importAdapter(files: Map<string, Uint8Array>): Adapter {
    return readPeft(this.model.config, files);
  }

  /** @throws {GauntletError} BAD_ADAPTER where it is not one of this model */
  protected checkAdapter(adapter: Adapter): void {
    const { rank, values, valueHead } = adapter;
    const size = layoutSize(adapterLayout(this.model.config, adapter));
    if (values.length !== size)
      throw new GauntletError(
        'BAD_ADAPTER',
        `the adapter has ${values.length} values, rank ${rank}${valueHead ? ' and a value head' : ''} of this model needs ${size}`,
      );
  }
}

/** The name by which others find the base: its folder's, not this machine's path. */
const baseName = (path: string): string =>
  path
    .replace(/[/\\]+$/, '')
    .split(/[/\\]/)
    .at(-1)!;
