// `gauntlet model logprobs`: log-probabilities of the tokens of each row.
import type { Command } from 'commander';
import { GauntletError } from '../../../core/errors.js';
import { parseAs } from '../../../core/issues.js';
import { type ScoreRow, scoreRowSchema } from '../../../core/schema/modelRows.js';
import { type RowLimits, tokensFault } from '../../../ml/engine/validation.js';
import { type EngineFlags, withEngine, withRows } from '../../model/flags.js';
import { mapRows, type RowFlags } from '../../model/mapRows.js';
import { withModel } from '../../model/open.js';
import { number } from '../../options.js';

type Flags = EngineFlags & RowFlags & { adapter?: string; temperature: number; values?: boolean };

const NOT_FINITE = 'the log-probabilities are not finite: the weights of the model or of the adapter are damaged';

export function addLogprobs(group: Command): void {
  const command = group
    .command('logprobs')
    .description('score rows: {"tokens"} → {"logprobs"} of all tokens but the first');
  withRows(withEngine(command))
    .option('--temperature <t>', 'divisor of the logits', number({ above: 0 }), 1)
    .option('--values', 'also print the estimates of the value head: {"logprobs", "values"}')
    .action((flags: Flags) =>
      withModel(flags, async ({ engine, adapter, signal }) => {
        const { temperature } = flags;
        if (flags.values && !adapter?.valueHead) {
          throw new GauntletError('BAD_ADAPTER', '--values: needs an --adapter with a value head');
        }
        await mapRows(
          flags,
          (value) => scoreRow(value, engine.info),
          async (batch) => {
            const scores = await engine.logprobs(batch, { adapter, temperature, signal });
            if (!scores.every((row) => row.every(Number.isFinite))) throw new GauntletError('BAD_MODEL', NOT_FINITE);
            const values = flags.values ? await engine.values(batch, { adapter: adapter!, signal }) : undefined;
            return scores.map((logprobs, i) => ({
              logprobs: logprobs.slice(1),
              values: values?.[i]?.slice(1),
            }));
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
