// `gauntlet model logprobs`: what a model gives to the tokens of each row.
import type { Command } from 'commander';
import { GauntletError } from '../../../core/errors.js';
import { parseAs, type ScoreRow, scoreRowSchema } from '../../../core/schema/modelRows.js';
import { type RowLimits, tokensFault } from '../../../ml/session/rows.js';
import { type EngineFlags, number, withEngine, withRows } from '../../model/flags.js';
import { mapRows, type RowFlags } from '../../model/mapRows.js';
import { withModel } from '../../model/open.js';

type Flags = EngineFlags & RowFlags & { adapter?: string; temperature: number };

export function addLogprobs(group: Command): void {
  const command = group
    .command('logprobs')
    .description('score rows: {"tokens"} → {"logprobs"}, one fewer than tokens, since nothing predicts the first');
  withRows(withEngine(command))
    .option('--temperature <t>', 'divides the logits', number('--temperature', { above: 0 }), 1)
    .action((flags: Flags) =>
      withModel(flags, async ({ engine, adapter, signal }) => {
        const { temperature } = flags;
        await mapRows(
          flags,
          (value) => scoreRow(value, engine.info),
          async (batch) => {
            const scores = await engine.logprobs(batch, { adapter, temperature, signal });
            return scores.map((logprobs) => ({ logprobs: logprobs.slice(1) }));
          },
        );
      }),
    );
}

function scoreRow(value: unknown, limits: RowLimits): ScoreRow {
  const row = parseAs(scoreRowSchema, value);
  const fault = tokensFault(row.tokens, limits);
  if (fault !== undefined) throw new GauntletError('BAD_INPUT', fault);
  return row;
}
