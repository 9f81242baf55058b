import assert from 'node:assert/strict';
import { extractCode } from '../../core/parse/code.js';

const PROGRAM = 'def f(x):\n    return x';

describe('extractCode', () => {
  it('extracts the fenced program of an answer', () => {
    assert.equal(extractCode(`Sure:\n\`\`\`python\n${PROGRAM}\n\`\`\`\nDone.`, 'instruct'), PROGRAM);
    assert.equal(extractCode(`\`\`\`\n${PROGRAM}\n\`\`\``, 'instruct'), PROGRAM);
    assert.equal(extractCode(`~~~py\r\ndef f(x):\r\n    return x\r\n~~~`, 'instruct'), PROGRAM);
  });

  it('prefers the last block that defines the function', () => {
    const answer = `\`\`\`python\ndef f(x): pass\n\`\`\`\nBetter:\n\`\`\`python\n${PROGRAM}\n\`\`\`\nUse:\n\`\`\`python\nf(1)\n\`\`\`\n\`\`\`bash\nls\n\`\`\``;
    assert.equal(extractCode(answer, 'instruct', 'f'), PROGRAM);
    assert.equal(extractCode(answer, 'instruct'), PROGRAM);
  });

  it('accepts an unclosed block', () => {
    assert.equal(extractCode(`\`\`\`python\n${PROGRAM}`, 'instruct'), PROGRAM);
  });

  it('accepts bare code from its first line on', () => {
    assert.equal(extractCode(`The answer is:\n${PROGRAM}\n`, 'instruct'), PROGRAM);
    assert.equal(extractCode(`import re\n${PROGRAM}\n`, 'instruct'), `import re\n${PROGRAM}`);
  });

  describe('finds the program in ordinary answers of public models', () => {
    const block = (code: string): string => `\`\`\`python\n${code}\n\`\`\``;
    const indented = (text: string): string => text.replace(/^/gm, '   ');
    const ANSWERS: Record<string, string> = {
      'an indented block in a list': `1. Here:\n${indented(block(PROGRAM))}`,
      'a block that starts an item of a list': `- ${block(indented(PROGRAM)).trimStart()}`,
      'a quotation': block(PROGRAM).replace(/^/gm, '> '),
      'bare code before an explanation': `${PROGRAM}\n\nThis function returns x unchanged.`,
      'bare code before a closing fence': `${PROGRAM}\n\`\`\``,
      'bare code before a closing fence and an explanation': `${PROGRAM}\n\`\`\`\nThis function returns x.`,
      'an opening fence at the end of a sentence': `Here is the code: ${block(PROGRAM)}\nIt returns x.`,
      'a closing fence at the end of the code': `\`\`\`python\n${PROGRAM}\`\`\`\nIt returns x.`,
      'text after the closing fence': `${block(PROGRAM)} It returns x.`,
      'a header as explanation': `${block(PROGRAM)}\nThe header:\n${block('def f(x):')}`,
      'a stub as explanation': `${block(PROGRAM)}\nThe shape:\n${block('def f(x):\n    ...')}`,
      'a block that is not closed before the next': `\`\`\`python\n${PROGRAM}\n\`\`\`bash\nls\n\`\`\``,
    };
    for (const [what, answer] of Object.entries(ANSWERS))
      it(what, () => assert.equal(extractCode(answer, 'instruct', 'f'), PROGRAM, answer));

    it('a program for standard input before an example of its output', () => {
      const answer = `${block('print(int(input()) + 1)')}\nExample:\n\`\`\`\n10\n\`\`\``;
      assert.equal(extractCode(answer, 'instruct', 'main'), 'print(int(input()) + 1)');
    });

    it('a program with a mistake as it is', () => {
      for (const code of ['def f(x)\n    return x', 'def f(x):\n    return x +', 'def f(x):\n    if x:\n  return x'])
        for (const answer of [code, block(code)]) assert.equal(extractCode(answer, 'instruct', 'f'), code);
    });

    it('a program with fences in it', () => {
      for (const line of [
        '    # removes a trailing ```',
        '    """ ```f(1) -> 1``` """',
        '    text = """\n~~~~~\n"""',
      ]) {
        const code = `def f(x):\n${line}\n    return x`;
        assert.equal(extractCode(`${block(code)}\nDone.`, 'instruct', 'f'), code);
      }
    });

    it('the last program, also with what a grammar may not know', () => {
      const draft = block('def f(x):\n    return 0');
      for (const line of [
        'total = 0.',
        'yield',
        'x = 2.*x',
        'match x:\n        case 1: pass',
        'print(f"{x!r:>{x}}")',
      ]) {
        const code = `import math\nINF = 1.\n\ndef f(x):\n    ${line}\n    return x`;
        assert.equal(extractCode(`${draft}\nBetter:\n${block(code)}`, 'instruct', 'f'), code);
        assert.equal(extractCode(code, 'instruct', 'f'), code);
      }
      const code = 'def f(x):\n    try:\n        print(int(x))\n    except ValueError:\n        pass';
      assert.equal(extractCode(`${draft}\n${block(code)}`, 'instruct', 'f'), code);
    });

    it('none in prose', () => {
      for (const answer of ['definitely, the answer is x', 'classes are not needed', ''])
        assert.equal(extractCode(answer, 'instruct', 'f'), '');
    });

    it('a large answer in little time', () => {
      const text = `def f(x):\n${'  ) (\n'.repeat(20_000)}`;
      assert.equal(extractCode(text, 'instruct', 'f'), text.trimEnd());
      for (const hostile of ['\n'.repeat(99_000), `\`\`\`${'a'.repeat(99_000)}\``, `\`\`\`\n${'>'.repeat(99_000)}`])
        extractCode(`def f(x): return x${hostile}`, 'instruct', 'f');
    });
  });

  it('returns an empty text without a program', () => {
    assert.equal(extractCode('I cannot do that.', 'instruct'), '');
    assert.equal(extractCode('', 'tiny'), '');
    assert.equal(extractCode('  \n', 'tiny'), '');
  });

  it("returns the shipped model's answer unchanged", () => {
    assert.equal(extractCode(`${PROGRAM}\n`, 'tiny'), PROGRAM);
    assert.equal(extractCode('for x then sum', 'tiny'), 'for x then sum');
  });

  it('finds the block that defines a method or a class', () => {
    const program = 'class Solution:\n    def g(self, x):\n        return x';
    const text = `\`\`\`python\n${program}\n\`\`\`\n\`\`\`python\nprint(Solution().g(1))\n\`\`\``;
    for (const entry of ['Solution.g', 'Solution']) assert.equal(extractCode(text, 'instruct', entry), program);
  });
});
