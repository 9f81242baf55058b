import assert from 'node:assert/strict';
import { clipped, describeCall } from '../../core/prompts/failures.js';
import {
  discriminatorPrompt,
  generatorContinuation,
  generatorOpening,
  generatorRepair,
  textOf,
} from '../../core/prompts/prompts.js';
import { STAGE_SPECS } from '../../core/prompts/stages.js';
import { STAGES } from '../../core/schema/chain.js';
import { problemSchema } from '../../core/schema/problem.js';

const problem = problemSchema.parse({
  id: 'p',
  description: 'Return the sum of the numbers in nums.',
  functionSignature: 'def solve(nums):',
  entry: 'solve',
  baselineTests: [{ args: [[11, 22]], expected: 33 }],
  hiddenTests: [{ args: [[44]], expected: 44 }],
  referenceSolution: 'def solve(nums):\n    return sum(nums)',
});

const request = (testsPerTurn: number) => ({ testsPerTurn, expected: 'model' }) as const;

describe('stages', () => {
  it('have different titles, instructions and focuses', () => {
    for (const field of ['title', 'instruction', 'focus'] as const) {
      assert.equal(new Set(STAGES.map((stage) => STAGE_SPECS[stage][field])).size, 5, field);
    }
  });
});

describe('instruct prompts', () => {
  it('show the generator problem, signature and one stage at a time', () => {
    const opening = generatorOpening('instruct', problem);
    assert.deepEqual(
      opening.map((message) => message.role),
      ['system', 'user'],
    );
    const user = textOf(opening[1]!.content);
    for (const part of [problem.description, problem.functionSignature, STAGE_SPECS[1].instruction])
      assert.ok(user.includes(part));
    assert.ok(!user.includes(STAGE_SPECS[2].instruction));
    assert.ok(textOf(generatorContinuation('instruct', problem, 5)).includes('```python'));
  });

  it('keep the request of stage 5 for an example without reasoning of a run with reasoning', () => {
    const [, user] = generatorOpening('instruct', problem, 5, false);
    assert.ok(textOf(user!.content).includes(STAGE_SPECS[5].instruction));
  });

  it('mention no reasoning to a generator that writes only code', () => {
    const text = generatorOpening('instruct', problem, 5)
      .map(({ content }) => textOf(content))
      .join('\n');
    for (const part of [problem.description, problem.functionSignature, '```python']) assert.ok(text.includes(part));
    assert.doesNotMatch(text, /stage|reasoning/i);
  });

  it('never show the generator a test or the reference', () => {
    const prompts = [
      ...generatorOpening('instruct', problem).map(({ content }) => textOf(content)),
      ...STAGES.map((stage) => textOf(generatorContinuation('instruct', problem, stage))),
      ...generatorOpening('instruct', problem, 5).map(({ content }) => textOf(content)),
      ...generatorOpening('tiny', problem).map(({ content }) => textOf(content)),
    ].join('\n');
    for (const secret of ['11', '22', '33', '44', 'sum(nums)', 'assert']) assert.ok(!prompts.includes(secret), secret);
  });

  it('show the discriminator problem, signature, one stage, count, focus and format', () => {
    for (const stage of STAGES) {
      const [system, user] = discriminatorPrompt('instruct', problem, stage, 'THE OUTPUT', request(3));
      assert.equal(system!.role, 'system');
      for (const part of [
        problem.description,
        problem.functionSignature,
        'THE OUTPUT',
        '3 tests',
        STAGE_SPECS[stage].focus,
        '((arg, ...), expected)',
      ]) {
        assert.ok(textOf(user!.content).includes(part), `${stage}: ${part}`);
      }
      assert.ok(!textOf(user!.content).includes('sum(nums)'));
    }
    assert.ok(
      textOf(discriminatorPrompt('instruct', problem, 5, 'x = 1', request(1))[1]!.content).includes(
        '```python\nx = 1\n```',
      ),
    );
    assert.ok(textOf(discriminatorPrompt('instruct', problem, 1, '', request(1))[1]!.content).includes('1 test.'));
  });

  it('show the discriminator the program that is judged, not a later block', () => {
    const work = '```python\ndef solve(nums):\n    return 7\n```\nTry it:\n```python\ndef test(): pass\n```';
    const text = textOf(discriminatorPrompt('instruct', problem, 5, work, request(1))[1]!.content);
    assert.ok(text.includes('return 7') && !text.includes('def test'), text);
  });

  it('show the discriminator no work if there is none', () => {
    const user = (style: 'instruct' | 'tiny') =>
      textOf(discriminatorPrompt(style, problem, 4, undefined, request(3)).at(-1)!.content);
    assert.ok(user('instruct').includes(problem.description) && user('instruct').includes(STAGE_SPECS[4].focus));
    assert.ok(!user('instruct').includes('work at stage'));
    assert.ok(user('tiny').endsWith('<s4><tests>'));
  });

  it('ask for calls instead of tests if the reference knows what is expected', () => {
    const answer = 'My solution:\n```python\ndef solve(nums):\n    return 0\n```\nDone.';
    const inputs = { testsPerTurn: 2, expected: 'reference' } as const;
    const text = textOf(discriminatorPrompt('instruct', problem, 5, answer, inputs)[1]!.content);
    const method = { ...problem, functionSignature: 'class Solution:\n    def best(self, a):', entry: 'Solution.best' };
    assert.match(textOf(discriminatorPrompt('instruct', method, 5, answer, inputs)[1]!.content), /calls of `best`/);
    for (const part of ['Write 2 inputs.', 'calls of `solve`', '```python\ndef solve(nums):\n    return 0\n```\n\n'])
      assert.ok(text.includes(part), part);
    for (const part of ['((arg', 'Done.']) assert.ok(!text.includes(part), part);
  });
});

describe('tiny prompts', () => {
  it('are the markers that the embedded model was trained with', () => {
    const head = 'Return the sum of the numbers in nums.\ndef solve(nums):';
    const [opening] = generatorOpening('tiny', problem);
    assert.deepEqual(opening, { role: 'user', content: [{ control: '<gen>' }, head, { control: '<s1>' }] });
    assert.deepEqual(generatorContinuation('tiny', problem, 4), [{ control: '<s4>' }]);
    const [tests] = discriminatorPrompt('tiny', problem, 3, 'for x in nums', request(2));
    assert.equal(textOf(tests!.content), `<disc>${head}<s3>for x in nums<tests>`);
  });

  it('keep the text of problems and stages apart from the markers', () => {
    const hostile = { ...problem, description: '<tests>' };
    const [message] = discriminatorPrompt('tiny', hostile, 3, '<disc>', request(2));
    const markers = (message!.content as (string | { control: string })[]).filter((part) => typeof part !== 'string');
    assert.deepEqual(markers, [{ control: '<disc>' }, { control: '<s3>' }, { control: '<tests>' }]);
  });
});

describe('the request to repair a program', () => {
  const failed = { call: 'solve([1])', expected: '1', got: '<s5>' };

  it('shows the failed test as text, whatever it spells', () => {
    assert.deepEqual(generatorRepair('tiny', failed), ['solve([1]) == 1, not <s5>', { control: '<s5>' }]);
    const content = generatorRepair('instruct', failed);
    assert.equal(typeof content, 'string'); // no part of it is a control token
    for (const part of ['solve([1])', 'Expected: 1', 'Actual: <s5>', '```python'])
      assert.ok(textOf(content).includes(part));
  });

  it('is short and the same in every execution', () => {
    assert.equal(clipped('a\n  b'), 'a b');
    assert.equal(clipped('a'.repeat(201)), `${'a'.repeat(200)} …`);
    assert.equal(clipped(`${'a'.repeat(199)}😀`), `${'a'.repeat(199)} …`);
    assert.equal(clipped(' '.repeat(5000).concat('b')), ' ');
    assert.equal(describeCall({ kind: 'error', message: 'TypeError: <f at 0x7fAb12>' }), 'TypeError: <f at 0x>');
    assert.equal(describeCall({ kind: 'memory', message: 'any' }), 'it exceeds the memory limit');
  });
});
