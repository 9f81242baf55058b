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
