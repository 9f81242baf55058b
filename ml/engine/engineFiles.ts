// The methods of an engine that only read and write data: text as tokens, new adapters, and adapters in files.
import { basename } from 'node:path';
import { GauntletError } from '../../core/errors.js';
import type { Content } from '../../core/prompts/prompts.js';
import { RandomStream } from '../../core/random.js';
import { type ChatFormat, type ChatMessage, loadChatFormat } from '../hf/chat.js';
import type { ModelFiles } from '../hf/model.js';
import { readPeft, writePeft } from '../hf/peft.js';
import { loadTokenizer, type TextTokenizer } from '../hf/tokenizer.js';
import { type Adapter, adapterLayout, layoutSize } from '../nn/layout.js';
import { newOptimizerState, type OptimizerState } from '../optim/adamw.js';
import type { Engine } from './engine.js';

type Text = 'encode' | 'decode' | 'openingTokens' | 'continuationTokens' | 'answerTokens';
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
  openingTokens(messages: ChatMessage[]): number[] {
    return this.format().openingTokens(messages);
  }
  continuationTokens(content: Content, endToken?: number): number[] {
    return this.format().continuationTokens(content, endToken);
  }
  answerTokens(text: string): number[] {
    const { eosTokens } = this.model;
    const [end] = this.continuationTokens('');
    return [...this.text().encodeProtected(this.text().protect(text)), eosTokens.includes(end!) ? end! : eosTokens[0]!];
  }
  private text(): TextTokenizer {
    this.tokenizer ??= loadTokenizer(this.model.path);
    return this.tokenizer;
  }
  private format(): ChatFormat {
    this.chat ??= loadChatFormat(this.model.path, this.text());
    return this.chat;
  }

  /** Initialized like PEFT: A uniform in ±1/√in, B zero. A value head starts at zero, too. */
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
    return newOptimizerState(adapter.values.length);
  }
  exportAdapter(adapter: Adapter): Map<string, Uint8Array> {
    this.checkAdapter(adapter);
    // others find the base by the name of its folder, not by a path on this machine
    return writePeft(this.model.config, adapter, basename(this.model.path));
  }
  importAdapter(files: Map<string, Uint8Array>): Adapter {
    return readPeft(this.model.config, files);
  }

  /** @throws {GauntletError} BAD_ADAPTER if the adapter does not fit this model */
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
