import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { parseTests } from '../../chains/judge/judging.js';
import { testAnswer } from '../../core/prompts/answers.js';
import { conventionOf } from '../../core/prompts/conventions.js';
import { PROMPTS, type PromptProblem, type TestRequest, textOf } from '../../core/prompts/prompts.js';
import { STAGE_SPECS } from '../../core/prompts/stages.js';
import { STAGES } from '../../core/schema/chain.js';
import { type PromptStyle, runConfigSchema } from '../../core/schema/config.js';
import { type Problem, problemSchema } from '../../core/schema/problem.js';
import { loadProblems } from '../../data/problems.js';
import { CONVENED, type Convened } from '../support/conventions.js';

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

describe('the stages of a chain', () => {
  it('have different titles, instructions and focuses', () => {
    for (const field of ['title', 'instruction', 'focus'] as const) {
      assert.equal(new Set(STAGES.map((stage) => STAGE_SPECS[stage][field])).size, 5, field);
    }
  });
});

describe('the prompts of EvalPlus', () => {
  it('repeat word for word what EvalPlus asks a chat model', () => {
    const { opening, begun } = PROMPTS.evalplus;
    const [message, ...others] = opening(problem, 5);
    const [ask, work] = textOf(message!.content).split(/(?<=:\n)/);
    assert.deepEqual([message!.role, others.length], ['user', 0]);
    assert.equal(
      ask,
      'Please provide a self-contained Python script that solves the following problem in a markdown code block:\n',
    );
    assert.equal(work, `\`\`\`\n${problem.description}\n\`\`\`\n`);
    assert.match(begun!, /^Below is a Python script .* passes corresponding tests:\n```python\n$/);
  });
});

describe('instruct prompts', () => {
  it('show the generator the problem, the signature and one stage at a time', () => {
    const opening = PROMPTS.instruct.opening(problem);
    assert.deepEqual(
      opening.map((message) => message.role),
      ['system', 'user'],
    );
    const user = textOf(opening[1]!.content);
    for (const part of [problem.description, problem.functionSignature, STAGE_SPECS[1].instruction])
      assert.ok(user.includes(part));
    assert.ok(!user.includes(STAGE_SPECS[2].instruction));
    assert.ok(textOf(PROMPTS.instruct.continuation(problem, 5)).includes('```python'));
  });

  it('keep the request of stage 5 for an example without reasoning of a run with reasoning', () => {
    const [, user] = PROMPTS.instruct.opening(problem, 5, false);
    assert.ok(textOf(user!.content).includes(STAGE_SPECS[5].instruction));
  });

  it('do not mention reasoning to a generator that writes only code', () => {
    const text = PROMPTS.instruct
      .opening(problem, 5)
      .map(({ content }) => textOf(content))
      .join('\n');
    for (const part of [problem.description, problem.functionSignature, '```python']) assert.ok(text.includes(part));
    assert.doesNotMatch(text, /stage|reasoning/i);
  });

  it('do not show the generator a test or the reference', () => {
    const prompts = [
      ...PROMPTS.instruct.opening(problem).map(({ content }) => textOf(content)),
      ...STAGES.map((stage) => textOf(PROMPTS.instruct.continuation(problem, stage))),
      ...PROMPTS.instruct.opening(problem, 5).map(({ content }) => textOf(content)),
      ...PROMPTS.tiny.opening(problem).map(({ content }) => textOf(content)),
    ].join('\n');
    for (const secret of ['11', '22', '33', '44', 'sum(nums)', 'assert']) assert.ok(!prompts.includes(secret), secret);
  });

  it('show the discriminator the problem, signature, one stage, count, focus and format', () => {
    for (const stage of STAGES) {
      const [system, user] = PROMPTS.instruct.discriminator(problem, stage, 'THE OUTPUT', request(3));
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
      textOf(PROMPTS.instruct.discriminator(problem, 5, 'x = 1', request(1))[1]!.content).includes(
        '```python\nx = 1\n```',
      ),
    );
    assert.ok(textOf(PROMPTS.instruct.discriminator(problem, 1, '', request(1))[1]!.content).includes('1 test.'));
  });

  it('show the discriminator the judged program, not a later block of code', () => {
    const work = '```python\ndef solve(nums):\n    return 7\n```\nTry it:\n```python\ndef test(): pass\n```';
    const text = textOf(PROMPTS.instruct.discriminator(problem, 5, work, request(1))[1]!.content);
    assert.ok(text.includes('return 7') && !text.includes('def test'), text);
  });

  it('show the discriminator no answer if there is none', () => {
    const user = (style: 'instruct' | 'tiny') =>
      textOf(PROMPTS[style].discriminator(problem, 4, undefined, request(3)).at(-1)!.content);
    assert.ok(user('instruct').includes(problem.description) && user('instruct').includes(STAGE_SPECS[4].focus));
    assert.ok(!user('instruct').includes('work at stage'));
    assert.ok(user('tiny').endsWith('<s4><tests>'));
  });

  it('ask for calls instead of tests if the reference computes the expected values', () => {
    const answer = 'My solution:\n```python\ndef solve(nums):\n    return 0\n```\nDone.';
    const inputs = { testsPerTurn: 2, expected: 'reference' } as const;
    const text = textOf(PROMPTS.instruct.discriminator(problem, 5, answer, inputs)[1]!.content);
    const method = { ...problem, functionSignature: 'class Solution:\n    def best(self, a):', entry: 'Solution.best' };
    assert.match(textOf(PROMPTS.instruct.discriminator(method, 5, answer, inputs)[1]!.content), /calls of `best`/);
    for (const part of ['Write 2 inputs.', 'calls of `solve`', '```python\ndef solve(nums):\n    return 0\n```\n\n'])
      assert.ok(text.includes(part), part);
    for (const part of ['((arg', 'Done.']) assert.ok(!text.includes(part), part);
  });
});

describe('prompts of problems with a calling convention', () => {
  const MODES = ['model', 'reference'] as const;
  const testerPrompt = (problem: PromptProblem, expected: TestRequest['expected']): string =>
    textOf(PROMPTS.instruct.discriminator(problem, 5, undefined, { testsPerTurn: 1, expected }).at(-1)!.content);
  const parsed = (answer: string, problem: Convened['problem'], expected: TestRequest['expected']) =>
    parseTests(
      answer,
      problem,
      runConfigSchema.parse({ testsPerTurn: 1, prompts: 'instruct', discriminator: { expected } }),
    );
  const textsOf = (problem: PromptProblem): string[] => [
    ...([1, 5] as const).map((stage) => textOf(PROMPTS.instruct.opening(problem, stage).at(-1)!.content)),
    ...MODES.map((mode) => testerPrompt(problem, mode)),
  ];

  for (const { name, problem, args, expected } of CONVENED) {
    it(`show an example that can be read as a test: ${name}`, () => {
      for (const mode of MODES) {
        const shown = testerPrompt(problem, mode).split('\n\n').at(-1)!;
        assert.match(shown, /^The format, shown for /);
        const answer = shown.slice(shown.indexOf('\n') + 1);
        const tests = mode === 'model' ? [{ args, expected }] : [{ args }];
        const taught = testAnswer('instruct', { testsPerTurn: 1, expected: mode }, problem.entry, [{ args, expected }]);
        for (const written of [answer, `\`\`\`python\n${answer}\n\`\`\``, `Here they are:\n\n${answer}`, taught])
          assert.deepEqual(parsed(written, problem, mode), { tests, lost: 0 }, written);
      }
    });

    it(`tell both roles how the program is called: ${name}`, () => {
      const rule = conventionOf(problem).rule!;
      for (const text of textsOf(problem)) assert.ok(text.includes(`Calling convention:\n${rule}`), text);
    });
  }

  const { problem: program } = CONVENED.find(({ name }) => name === 'a whole program')!;
  const { problem: operations } = CONVENED.find(({ name }) => name === 'a class of operations')!;
  const { problem: inPlace } = CONVENED.find(({ name }) => name === 'an argument that is changed in place')!;

  it('ask for a whole program instead of a function', () => {
    for (const each of [
      program,
      { ...program, calling: undefined },
      { ...program, functionSignature: 'def main():' },
    ]) {
      const continuations = STAGES.map((stage) => textOf(PROMPTS.instruct.continuation(each, stage)));
      const text = [...textsOf(each), ...continuations].join('\n');
      assert.doesNotMatch(text, /this function|must return|given signature|Function signature|is returned|\(arg,/);
      for (const part of ['Write this program in Python', 'standard input', 'prints the answer', 'must print'])
        assert.ok(text.includes(part), part);
    }
    assert.ok(textsOf(operations)[1]!.includes('Write this class in Python'));
  });

  it('show calls with one text for a whole program, whatever its signature says', () => {
    const odd = { ...program, functionSignature: 'def main():' };
    const long = '[\n    (("""2\n1 2\n""",), "3\\n"),\n]';
    assert.deepEqual(parsed(long, odd, 'model').tests, [{ args: ['2\n1 2\n'], expected: '3\n' }]);
    assert.deepEqual(parsed('main("""2\n1 2\n""")', odd, 'reference').tests, [{ args: ['2\n1 2\n'] }]);
    assert.deepEqual(parsed('main()\nmain("1", "2")', odd, 'reference'), { tests: [], lost: 2 });
    assert.deepEqual(parsed('[(("1", "2"), "3")]', odd, 'model'), { tests: [], lost: 1 });
  });

  it('show calls with two lists for operations', () => {
    assert.deepEqual(parsed('[((["Counter"],), [None])]', operations, 'model'), { tests: [], lost: 1 });
    assert.deepEqual(parsed('Counter(["Counter"])', operations, 'reference'), { tests: [], lost: 1 });
  });

  it('show calls of the entry, because the reader of inputs finds calls by this name', () => {
    const text = testerPrompt({ ...program, entry: 'program' }, 'reference');
    assert.ok(text.includes('calls of `program`') && text.endsWith('program("1 2\\n")'), text);
  });

  it('name the argument that is changed in place', () => {
    const functionSignature = 'class Solution:\n    def sort(self, first: int, second: List[int]) -> None:';
    const method = {
      ...inPlace,
      functionSignature,
      entry: 'Solution.sort',
      calling: { ...inPlace.calling, observe: 1 },
    };
    const text = testerPrompt(method, 'model');
    assert.ok(text.includes('changes `second` in place') && text.includes('the value that `second` must have'), text);
    const unknown = testerPrompt({ ...method, functionSignature: 'def other():' }, 'model');
    assert.ok(unknown.includes('changes argument 2 in place'), unknown);
  });

  it('describe the nodes that a constructor receives', () => {
    const calling = { ...operations.calling, parameters: ['TreeNode' as const] };
    const text = testerPrompt({ ...operations, calling }, 'model');
    assert.ok(text.includes('two lists of the same length') && text.includes('`TreeNode`'), text);
  });
});

describe('prompts of the shipped problems', () => {
  /** Digests that were recorded before prompts described calling conventions. Models were trained with these prompts. */
  const DIGESTS = {
    tiny: '4f1161db15bb1da17ae92ff33838b5a7f16ecf6c8b10cccdcaa71fd071336c91',
    nested: '5b8a5e584b3eaa629e8072b3a369d2e165cfd51f77fa024e5d80a57ba46915c3',
    steps: '7843ffa82d4bfdd9818406c5bb1beffed29f9932c0afd2c5cc2cc4ee4ae556e5',
  };
  const requests = (['model', 'reference'] as const).flatMap((expected) =>
    [1, 3].map((testsPerTurn) => ({ testsPerTurn, expected })),
  );
  const promptsOf = (style: PromptStyle, problem: Problem): unknown[] => [
    PROMPTS[style].opening(problem),
    PROMPTS[style].opening(problem, 5),
    PROMPTS[style].opening(problem, 5, false),
    ...STAGES.flatMap((stage) => [
      PROMPTS[style].continuation(problem, stage),
      ...requests.flatMap((request) =>
        [undefined, 'x = 1'].map((work) => PROMPTS[style].discriminator(problem, stage, work, request)),
      ),
    ]),
    ...requests.map((request) => testAnswer(style, request, problem.entry, problem.baselineTests)),
  ];

  for (const name of ['tiny', 'nested', 'steps'] as const) {
    it(`have the recorded bytes: ${name}`, async () => {
      const hash = createHash('sha256');
      const { validation } = await loadProblems(name === 'steps' ? 'steps:1-5' : name);
      for (const problem of validation.slice(0, 200))
        for (const style of ['instruct', 'tiny'] as const) hash.update(JSON.stringify(promptsOf(style, problem)));
      assert.equal(hash.digest('hex'), DIGESTS[name]);
    });
  }
});

describe('tiny prompts', () => {
  it('use the markers with which the embedded model was trained', () => {
    const head = 'Return the sum of the numbers in nums.\ndef solve(nums):';
    const [opening] = PROMPTS.tiny.opening(problem);
    assert.deepEqual(opening, { role: 'user', content: [{ control: '<gen>' }, head, { control: '<s1>' }] });
    assert.deepEqual(PROMPTS.tiny.continuation(problem, 4), [{ control: '<s4>' }]);
    const [tests] = PROMPTS.tiny.discriminator(problem, 3, 'for x in nums', request(2));
    assert.equal(textOf(tests!.content), `<disc>${head}<s3>for x in nums<tests>`);
  });

  it('distinguish the text of problems and stages from the markers', () => {
    const hostile = { ...problem, description: '<tests>' };
    const [message] = PROMPTS.tiny.discriminator(hostile, 3, '<disc>', request(2));
    const markers = (message!.content as (string | { control: string })[]).filter((part) => typeof part !== 'string');
    assert.deepEqual(markers, [{ control: '<disc>' }, { control: '<s3>' }, { control: '<tests>' }]);
  });
});
