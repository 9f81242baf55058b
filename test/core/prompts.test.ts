import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { parseTests } from '../../chains/judge/judging.js';
import { stageAnswer, testAnswer } from '../../core/prompts/answers.js';
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
    const { opening, answer } = PROMPTS.evalplus;
    const [message, ...others] = opening(problem, 5);
    const [ask, work] = textOf(message!.content).split(/(?<=:\n)/);
    assert.deepEqual([message!.role, others.length], ['user', 0]);
    assert.equal(
      ask,
      'Please provide a self-contained Python script that solves the following problem in a markdown code block:\n',
    );
    assert.equal(work, `\`\`\`\n${problem.description}\n\`\`\`\n`);
    assert.match(answer!(5).begun!, /^Below is a Python script .* passes corresponding tests:\n```python\n$/);
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
        'Test 1: assert solve(nums) == expected\nTest 2: assert solve(nums) == expected\nTest 3: ',
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

  it('begin the code, and end each stage before the next one and before code', () => {
    const { answer } = PROMPTS.instruct;
    assert.deepEqual(answer!(1), { stops: ['Stage 2', ' Stage 2', '```', '```python'] });
    assert.deepEqual(answer!(3), { stops: ['Stage 4', ' Stage 4'] }); // pseudocode may have a fence
    assert.ok(stageAnswer('instruct', problem, 5)!.startsWith(answer!(5).begun!));
    assert.ok(answer!(5).stops.some((stop) => stageAnswer('instruct', problem, 5)!.endsWith(stop)));
  });

  it('begin the answer with the first call, and end it with the first line that was not asked for', () => {
    const limits = PROMPTS.instruct.tests!;
    const inputs = { testsPerTurn: 2, expected: 'reference' } as const;
    assert.deepEqual(limits('Solution.solve', request(3)), { begun: 'Test 1: assert solve', stops: ['Test 4'] });
    assert.deepEqual(limits('solve', inputs), { begun: 'Input 1: solve', stops: ['Input 3'] });
    for (const asked of [request(3), inputs]) {
      const taught = testAnswer('instruct', asked, 'solve', problem.baselineTests);
      assert.ok(taught.startsWith(`${limits('solve', asked).begun}(`), taught);
    }
  });

  it('name the parameters as the signature does, so that no call has too few arguments', () => {
    const formOf = (functionSignature: string): string =>
      textOf(PROMPTS.instruct.discriminator({ ...problem, functionSignature }, 1, '', request(1))[1]!.content);
    assert.ok(formOf('def solve(a: int, b=3) -> int:').endsWith('Test 1: assert solve(a, b) == expected'));
    assert.ok(formOf('def solve(a, /, b):').endsWith('solve(argument1, b) == expected'));
    assert.ok(formOf('def solve(*values):').endsWith('solve(...) == expected'));
    assert.ok(formOf('?').endsWith('solve(...) == expected'));
  });

  it('ask for calls instead of tests if the reference computes the expected values', () => {
    const answer = 'My solution:\n```python\ndef solve(nums):\n    return 0\n```\nDone.';
    const inputs = { testsPerTurn: 2, expected: 'reference' } as const;
    const text = textOf(PROMPTS.instruct.discriminator(problem, 5, answer, inputs)[1]!.content);
    const method = { ...problem, functionSignature: 'class Solution:\n    def best(self, a):', entry: 'Solution.best' };
    assert.match(textOf(PROMPTS.instruct.discriminator(method, 5, answer, inputs)[1]!.content), /Input 1: best\(a\)/);
    for (const part of [
      'Write 2 inputs.',
      'Input 2: solve(nums)',
      '```python\ndef solve(nums):\n    return 0\n```\n\n',
    ])
      assert.ok(text.includes(part), part);
    for (const part of ['assert', 'Done.']) assert.ok(!text.includes(part), part);
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
        const [, answer = ''] = /^The form, shown for .*:\n(.*)$/m.exec(testerPrompt(problem, mode)) ?? [];
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
      assert.doesNotMatch(text, /this function|must return|given signature|Function signature|is returned/);
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
    assert.ok(text.includes('\nInput 1: program("1 2\\n")\n') && text.endsWith('\nInput 1: program(text)'), text);
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
  /** Digests that were recorded before prompts described calling conventions. The shipped models were trained with these prompts. */
  const DIGESTS = {
    tiny: '5a27d2029ad8790d442777bac0b40c911140e2883236df56c7939e5c0b2c0903',
    nested: '1888ee694e1f7721af948f8984d71d846b54c7778f788b5e9fad17ab5fe51f37',
    steps: '349385662dba304d24e2d6fe0c2c1e87e277cbe31231dc033513a2aab0579c4d',
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
      for (const problem of validation.slice(0, 200)) hash.update(JSON.stringify(promptsOf('tiny', problem)));
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
