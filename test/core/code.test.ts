import assert from 'node:assert/strict';
import { extractCode } from '../../core/parse/code.js';

const PROGRAM = 'def f(x):\n    return x';

describe('extractCode', () => {
  it('takes the fenced program out of an answer', () => {
    assert.equal(extractCode(`Sure:\n\`\`\`python\n${PROGRAM}\n\`\`\`\nDone.`, 'instruct'), PROGRAM);
    assert.equal(extractCode(`\`\`\`\n${PROGRAM}\n\`\`\``, 'instruct'), PROGRAM);
    assert.equal(extractCode(`~~~py\r\ndef f(x):\r\n    return x\r\n~~~`, 'instruct'), PROGRAM);
  });

  it('takes the last block that defines the function, not the usage after it', () => {
    const answer = `\`\`\`python\ndef f(x): pass\n\`\`\`\nBetter:\n\`\`\`python\n${PROGRAM}\n\`\`\`\nUse:\n\`\`\`python\nf(1)\n\`\`\`\n\`\`\`bash\nls\n\`\`\``;
    assert.equal(extractCode(answer, 'instruct', 'f'), PROGRAM);
    assert.equal(extractCode(answer, 'instruct'), PROGRAM);
  });

  it('takes an unclosed block to its end', () => {
    assert.equal(extractCode(`\`\`\`python\n${PROGRAM}`, 'instruct'), PROGRAM);
  });

  it('takes bare code from its first line on', () => {
    assert.equal(extractCode(`The answer is:\n${PROGRAM}\n`, 'instruct'), PROGRAM);
    assert.equal(extractCode(`import re\n${PROGRAM}\n`, 'instruct'), `import re\n${PROGRAM}`);
  });

  it('finds nothing where there is no program', () => {
    assert.equal(extractCode('I cannot do that.', 'instruct'), '');
    assert.equal(extractCode('', 'tiny'), '');
    assert.equal(extractCode('  \n', 'tiny'), '');
  });

  it("takes the embedded model's answer as it stands", () => {
    assert.equal(extractCode(`${PROGRAM}\n`, 'tiny'), PROGRAM);
    assert.equal(extractCode('for x then sum', 'tiny'), 'for x then sum');
  });

  it('of a method or a class of operations is the block that defines it', () => {
    const program = 'class Solution:\n    def g(self, x):\n        return x';
    const text = `\`\`\`python\n${program}\n\`\`\`\n\`\`\`python\nprint(Solution().g(1))\n\`\`\``;
    for (const entry of ['Solution.g', 'Solution']) assert.equal(extractCode(text, 'instruct', entry), program);
  });
});
