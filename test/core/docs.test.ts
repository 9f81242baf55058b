// Compares pages that list what the code defines with the code, in both directions.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { ERROR_CODES, type ErrorCode, GauntletError } from '../../core/base/errors.js';
import { PRESET_NAMES, type PresetName, resolveConfig } from '../../core/config/presets.js';
import { METRIC_NAMES } from '../../core/evaluation/metrics.js';
import { REJECTION_REASONS } from '../../core/parse/salvage.js';
import { OUTCOMES } from '../../core/rewards/outcomes.js';
import { REWARD_RULES } from '../../core/rewards/rewards.js';
import { rolloutsSchema, runConfigSchema } from '../../core/schema/config.js';

/** The limit of configuration fields, because users cannot understand many. Lower it whenever a field is removed. */
const MOST_FIELDS = 80;

const page = (name: string): string => readFileSync(`docs/${name}`, 'utf8');

/** The rows of the first table after a heading. Cells have no backticks. */
function table(text: string, heading?: string): string[][] {
  const from = heading === undefined ? 0 : text.indexOf(`\n${heading}\n`);
  assert.ok(from >= 0, `no heading ${heading}`);
  const lines = text.slice(from).split('\n');
  const start = lines.findIndex((line) => /^\|(?:-+\|)+$/.test(line));
  const rows: string[][] = [];
  for (const line of lines.slice(start + 1)) {
    if (!line.startsWith('| ')) break;
    rows.push(
      line
        .slice(2, -2)
        .split(' | ')
        .map((cell) => cell.replace(/^`(.*)`$/, '$1')),
    );
  }
  return rows;
}

function leaves(value: unknown, path = ''): [string, string][] {
  const isLeaf = typeof value !== 'object' || value === null || Array.isArray(value) || Object.keys(value).length === 0;
  if (isLeaf) return [[path, JSON.stringify(value)]];
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, path ? `${path}.${key}` : key));
}

describe('the documentation of the core', () => {
  it('lists all error codes in errors.md', () => {
    const documented = table(page('errors.md'));
    const defined = Object.entries(ERROR_CODES).map(([code, { retryable, help }]) => [
      code,
      retryable ? 'yes' : 'no',
      help,
    ]);
    assert.deepEqual(documented, defined);
  });

  it('lists all outcomes in method.md', () => {
    const text = page('method.md');
    const documented = table(text.slice(text.indexOf('| outcome | meaning |') - 1));
    assert.deepEqual(documented, Object.entries(OUTCOMES));
  });

  it('lists every field with its default in configuration.md', () => {
    const documented = table(page('configuration.md'), '## Fields').map(([field, value]) => [field, value]);
    assert.deepEqual(documented, leaves(runConfigSchema.parse({})));
  });

  it('gives a reason for each field in configuration.md', () => {
    for (const [field, , , why] of table(page('configuration.md'), '## Fields'))
      assert.match(why!, /^(\[[^\]]+\]\([^)]+\)|\*common in trainers\*)$/, `${field}: link what needs or measures it`);
  });

  it('has at most 80 fields in configuration.md', () => {
    const { length } = table(page('configuration.md'), '## Fields');
    assert.ok(length <= MOST_FIELDS, `${length} fields: remove one before you add another`);
  });

  it('lists the fields of remote rollouts in configuration.md', () => {
    const required = { endpoint: 'http://127.0.0.1:8000', adapters: '/shared' };
    const documented = table(page('configuration.md'), '## Remote rollouts').map(([field, value]) => [field, value]);
    const defined = leaves(rolloutsSchema.parse(required), 'rollouts').map(([field, value]) => [
      field,
      field.slice('rollouts.'.length) in required ? 'required' : value,
    ]);
    assert.deepEqual(documented, defined);
  });

  it('names every reward scheme in configuration.md', () => {
    const [, , meaning] = table(page('configuration.md'), '## Fields').find(([field]) => field === 'reward.scheme')!;
    for (const scheme of Object.keys(REWARD_RULES)) assert.ok(meaning!.includes(`\`${scheme}\``), scheme);
  });

  it('names every preset in configuration.md', () => {
    const [, , meaning] = table(page('configuration.md'), '## Fields').find(([field]) => field === 'preset')!;
    for (const preset of PRESET_NAMES) assert.ok(meaning!.includes(`\`${preset}\``), preset);
  });

  it('lists the changes of each preset in configuration.md', () => {
    const others: Partial<Record<PresetName, PresetName>> = {
      'tiny-no-discriminator': 'tiny',
      nested: 'tiny',
      'qwen3-0.6b': 'qwen-0.5b',
      'llama-1b': 'qwen-0.5b',
      'qwen-1.5b': 'qwen-0.5b',
      'qwen-7b': 'qwen-0.5b',
      'code-a1-small': 'qwen-0.5b',
    };
    for (const preset of PRESET_NAMES) {
      const ground = new Map(leaves(resolveConfig({ preset: others[preset] ?? 'custom' })));
      const changed = leaves(resolveConfig({ preset })).filter(
        ([field, value]) => field !== 'preset' && ground.get(field) !== value,
      );
      assert.deepEqual(table(page('configuration.md'), `## Preset \`${preset}\``), changed);
    }
  });

  it('has a valid example in configuration.md', () => {
    const example = /```json\n([\s\S]*?)```/.exec(page('configuration.md'))![1]!;
    assert.equal(resolveConfig(JSON.parse(example)).ppo.learningRate, 0.0005);
  });

  it('defines every metric of an evaluation in method.md', () => {
    const defined = table(page('method.md'), '## Evaluation of a checkpoint').flatMap(([names]) => names!.split(', '));
    assert.deepEqual(
      defined.map((name) => name.replaceAll('`', '')),
      METRIC_NAMES,
    );
  });

  it('lists every reward scheme and every rejection reason in method.md', () => {
    const text = page('method.md');
    assert.deepEqual(
      table(text, '## Tests').map(([reason]) => reason),
      [...REJECTION_REASONS],
    );
    assert.deepEqual(
      table(text, '## Rewards').map(([scheme]) => scheme),
      Object.keys(REWARD_RULES),
    );
  });
});

describe('GauntletError', () => {
  it('derives retryable from its code', () => {
    for (const code of Object.keys(ERROR_CODES) as ErrorCode[]) {
      const error = new GauntletError(code, 'line');
      assert.deepEqual(
        [error.retryable, error.name, error.message],
        [ERROR_CODES[code].retryable, 'GauntletError', 'line'],
      );
    }
    assert.equal(new GauntletError('SANDBOX_FAULT', 'x').retryable, true);
    assert.equal(new GauntletError('BAD_INPUT', 'x').retryable, false);
  });
});
