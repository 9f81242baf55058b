// The methods of an engine that run no graph: they turn text into tokens, make adapters, and read and write them.
import { basename } from 'node:path';
import { GauntletError } from '../../core/base/errors.js';
import { RandomStream } from '../../core/base/random.js';
import type { TemplateArguments } from '../../core/schema/config.js';
import { type ChatFormat, loadChatFormat } from '../hf/chat.js';
import type { ModelFiles } from '../hf/model.js';
import { readPeft, writePeft } from '../hf/peft.js';
import { loadTokenizer, type TextTokenizer } from '../hf/tokenizer.js';
import { type Adapter, layoutSize, loraLayout } from '../nn/layout.js';
import { newOptimizerState, type OptimizerState } from '../optim/adamw.js';
import type { Chat, Engine } from './engine.js';

const NO_END = 'no eos_token_id in generation_config.json or config.json: add the id of the token that ends an answer';

type Text = 'encode' | 'decode' | 'chat';
type Adapters = 'initAdapter' | 'newOptimizerState' | 'exportAdapter' | 'importAdapter';

/** The name under which others find the base of an adapter: the id of a model in the hub's cache, else the name of the folder. */
export function baseName(folder: string): string {
  const [, id] = /[\\/]models--([^\\/]+)[\\/]snapshots[\\/][0-9a-f]{40}$/.exec(folder) ?? [];
  return id?.replace('--', '/') ?? basename(folder);
}

export class EngineFiles implements Pick<Engine, Text | Adapters> {
  private tokenizer: TextTokenizer | undefined;
  private readonly chats = new Map<string, Chat>(); // keys are the arguments of the template

  constructor(protected readonly model: ModelFiles) {}

  encode(text: string): number[] {
    return this.text().encode(text);
  }
  decode(tokens: number[]): string {
    return this.text().decode(tokens);
  }
  chat(templateArguments: TemplateArguments = {}): Chat {
    const key = JSON.stringify(templateArguments);
    const chat = this.chats.get(key) ?? this.openChat(templateArguments);
    this.chats.set(key, chat);
    return chat;
  }
  private openChat(templateArguments: TemplateArguments): Chat {
    let format: ChatFormat | undefined; // opened by the first use: training needs no text
    const open = (): ChatFormat => {
      if (this.model.eosTokens.length === 0) throw new GauntletError('BAD_MODEL', `${this.model.path}: ${NO_END}`);
      format ??= loadChatFormat(this.model.path, this.text(), templateArguments);
      return format;
    };
    return {
      thinks: () => open().thinks(),
      openingTokens: (messages, begun) => open().openingTokens(messages, begun),
      continuationTokens: (...given) => open().continuationTokens(...given),
      endTokens: () => open().endTokens(this.model.eosTokens),
      answerTokens: (text) => open().answerTokens(text, open().endTokens(this.model.eosTokens)),
      thinkingRange: (promptTokens, answerTokens) => open().thinkingRange(promptTokens, answerTokens),
    };
  }
  private text(): TextTokenizer {
    this.tokenizer ??= loadTokenizer(this.model.path);
    return this.tokenizer;
  }

  /** Initialized like PEFT: A uniform in ±1/√in, B zero. */
  initAdapter({ rank, alpha }: { rank: number; alpha: number }, seed: number): Adapter {
    const layout = loraLayout(this.model.config, rank);
    const values = new Float32Array(layoutSize(layout));
    for (const { name, shape, offset } of layout) {
      if (!name.includes('.lora_A.')) continue;
      const stream = new RandomStream(seed, 'lora', name);
      const bound = 1 / Math.sqrt(shape[1]!);
      for (let i = 0; i < shape[0]! * shape[1]!; i++) values[offset + i] = (2 * stream.uniform() - 1) * bound;
    }
    return { rank, alpha, values };
  }
  newOptimizerState(adapter: Adapter): OptimizerState {
    return newOptimizerState(adapter.values.length);
  }
  exportAdapter(adapter: Adapter): Map<string, Uint8Array> {
    this.checkAdapter(adapter);
    return writePeft(this.model.config, adapter, baseName(this.model.path));
  }
  importAdapter(files: Map<string, Uint8Array>): Adapter {
    return readPeft(this.model.config, files);
  }

  /** @throws {GauntletError} BAD_ADAPTER if the adapter does not fit this model */
  protected checkAdapter(adapter: Adapter): void {
    const { rank, values } = adapter;
    const size = layoutSize(loraLayout(this.model.config, rank));
    if (values.length === size) return;
    const what = `the adapter has ${values.length} values, rank ${rank} of this model needs ${size}`;
    throw new GauntletError('BAD_ADAPTER', what);
  }
}
