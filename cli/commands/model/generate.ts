// `gauntlet model generate`: answers to prompts of tokens or messages. What row n draws follows from the seed and n.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { GauntletError } from '../../../core/errors.js';
import { deriveKey } from '../../../core/random.js';
import { parseAs, promptRowSchema } from '../../../core/schema/modelRows.js';
import type { Engine, Generated } from '../../../ml/engine/engine.js';
import { tokensFault } from '../../../ml/engine/validation.js';
import { integer } from '../../config.js';
import { type EngineFlags, number, withEngine, withRows } from '../../model/flags.js';
import { mapRows, type RowFlags } from '../../model/mapRows.js';
import { withModel } from '../../model/open.js';

type Flags = EngineFlags &
  RowFlags & {
    adapter?: string;
    maxNewTokens: number;
    temperature: number;
    seed: number;
    topP?: number;
    topK?: number;
    repetitionPenalty?: number;
    stopToken: number[];
  };

export function addGenerate(group: Command): void {
  const command = group
    .command('generate')
    .description('answer rows: {"tokens"} or {"messages"} → {"tokens", "text"} of what is new');
  withRows(withEngine(command))
    .option('--max-new-tokens <n>', 'of an answer', integer('--max-new-tokens', 1), 256)
    .option('--temperature <t>', 'of the sampling, 0 for greedy', number('--temperature', { from: 0 }), 1)
    .option('--seed <n>', 'of the sampling; row n of the input draws by seed and n', integer('--seed'), 0)
    .option(
      '--top-p <p>',
      'likeliest tokens that hold this share of probability',
      number('--top-p', { above: 0, to: 1 }),
    )
    .option('--top-k <k>', 'so many of the likeliest tokens', integer('--top-k', 1))
    .option(
      '--repetition-penalty <r>',
      'above 1: lowers tokens of the row so far',
      number('--repetition-penalty', { above: 0 }),
    )
    .option('--stop-token <id>', 'ends an answer, beside those of the model; repeatable', stopToken, [])
    .action((flags: Flags) =>
      withModel(flags, async ({ engine, adapter, signal }) => {
        const { maxNewTokens, temperature, topP, topK, repetitionPenalty, seed } = flags;
        const stopTokens = [...engine.info.eosTokens, ...flags.stopToken];
        const options = { adapter, maxNewTokens, temperature, topP, topK, repetitionPenalty, stopTokens, signal };
        const hasText = existsSync(join(flags.model, 'tokenizer.json'));
        await mapRows(
          flags,
          (value) => promptOf(value, engine),
          async (prompts, from) => {
            const rows = prompts.map((prompt, i) => ({ prompt, key: deriveKey(seed, 'generate', from + i) }));
            const answers = await engine.generate(rows, options);
            return answers.map((answer) => ({ tokens: answer.tokens, text: hasText ? textOf(answer, engine) : null }));
          },
        );
      }),
    );
}

function stopToken(text: string, previous: number[]): number[] {
  return [...previous, integer('--stop-token')(text)];
}

/** An answer's text: without the token that ended it. */
const textOf = ({ tokens, finished }: Generated, engine: Engine): string =>
  engine.decode(finished ? tokens.slice(0, -1) : tokens);

function promptOf(value: unknown, engine: Engine): number[] {
  const { tokens, messages } = parseAs(promptRowSchema, value);
  const prompt = tokens ?? engine.openingTokens(messages!);
  const fault =
    tokensFault(prompt, engine.info) ??
    (prompt.length === engine.info.contextLength
      ? `${prompt.length} tokens fill the context, none can follow`
      : undefined);
  if (fault !== undefined) throw new GauntletError('BAD_INPUT', fault);
  return prompt;
}
