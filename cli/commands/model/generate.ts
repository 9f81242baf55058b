// `gauntlet model generate`: answers prompts of tokens or messages. The seed and n determine what row n samples.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { GauntletError } from '../../../core/errors.js';
import { groupBy } from '../../../core/groups.js';
import { parseAs } from '../../../core/issues.js';
import { deriveKey } from '../../../core/random.js';
import { promptRowSchema } from '../../../core/schema/modelRows.js';
import type { Chat, Engine, Generated } from '../../../ml/engine/engine.js';
import { tokensFault } from '../../../ml/engine/validation.js';
import { readTemplateArguments } from '../../config.js';
import { type EngineFlags, withEngine, withRows } from '../../model/flags.js';
import { mapRows, type RowFlags } from '../../model/mapRows.js';
import { withModel } from '../../model/open.js';
import { integer, number, templateArgumentOption } from '../../options.js';

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
    templateArgument: string[];
  };

export function addGenerate(group: Command): void {
  const command = group
    .command('generate')
    .description('answer prompts: {"tokens"} or {"messages"} → the new {"tokens", "text"}');
  withRows(withEngine(command))
    .option('--max-new-tokens <n>', 'longest answer, in tokens', integer(1), 256)
    .option('--temperature <t>', 'sampling temperature; 0 is greedy', number({ from: 0 }), 1)
    .option('--seed <n>', 'random seed; row n samples by the seed and n', integer(), 0)
    .option(
      '--top-p <p>',
      'sample from the most likely tokens with this total probability',
      number({ above: 0, to: 1 }),
    )
    .option('--top-k <k>', 'sample from the k most likely tokens', integer(1))
    .option('--repetition-penalty <r>', 'above 1: makes tokens of the row less likely', number({ above: 0 }))
    .option('--stop-token <id>', 'also end an answer at this token; repeatable', stopToken, [])
    .addOption(templateArgumentOption())
    .action((flags: Flags) =>
      withModel(flags, async ({ engine, adapter, signal }) => {
        const chat = engine.chat(readTemplateArguments(flags.templateArgument));
        const { maxNewTokens, temperature, topP, topK, repetitionPenalty, seed } = flags;
        const options = { adapter, maxNewTokens, temperature, topP, topK, repetitionPenalty, signal };
        const hasText = existsSync(join(engine.info.path, 'tokenizer.json'));
        await mapRows(
          flags,
          (value) => promptOf(value, engine, chat),
          async (prompts, from) => {
            const rows = prompts.map((row, i) => ({ ...row, key: deriveKey(seed, 'generate', from + i) }));
            const answers = new Map<object, Generated>();
            for (const [isChat, own] of groupBy(rows, (row) => row.isChat)) {
              const ends = isChat ? chat.endTokens() : engine.info.eosTokens;
              const generated = await engine.generate(
                own.map(({ prompt, key }) => ({ prompt, key })),
                { ...options, stopTokens: [...ends, ...flags.stopToken] },
              );
              for (const [i, row] of own.entries()) answers.set(row, generated[i]!);
            }
            return rows.map((row) => {
              const answer = answers.get(row)!;
              return { tokens: answer.tokens, text: hasText ? textOf(answer, engine) : null };
            });
          },
        );
      }),
    );
}

function stopToken(text: string, previous: number[]): number[] {
  return [...previous, integer()(text)];
}

/** The text without the token that ended the answer. */
const textOf = ({ tokens, finished }: Generated, engine: Engine): string =>
  engine.decode(finished ? tokens.slice(0, -1) : tokens);

function promptOf(value: unknown, engine: Engine, chat: Chat): { prompt: number[]; isChat: boolean } {
  const { tokens, messages } = parseAs(promptRowSchema, value);
  const prompt = tokens ?? chat.openingTokens(messages!);
  const fault =
    tokensFault(prompt, engine.info) ??
    (prompt.length === engine.info.contextLength
      ? `${prompt.length} tokens fill the context, none can follow`
      : undefined);
  if (fault !== undefined) throw new GauntletError('BAD_INPUT', fault);
  return { prompt, isChat: tokens === undefined };
}
