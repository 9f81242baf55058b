import assert from 'node:assert/strict';
import { extractCode, judgedCode } from '../../core/parse/code.js';
import { rowsOf } from '../support/rows.js';

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

  it('ends an answer where EvalPlus stops sampling', () => {
    const program = 'def f(x):\n    return x';
    for (const rest of [
      '\n```',
      '\n```\nThis works:\n```python\nf(1)\n```',
      "\nif __name__ == '__main__':\n    f(1)",
      '\nprint(f(1))',
      '',
    ])
      assert.equal(extractCode(program + rest, 'evalplus', 'f'), program, rest);
  });

  it('keeps what the function needs, as EvalPlus does, and no test of the model, which may be wrong', () => {
    const [needed, others] = rowsOf<string[]>('core/evalplusProgram.jsonl') as [string[], string[]];
    const kept = extractCode([...needed, ...others].join('\n\n'), 'evalplus', 'f');
    assert.deepEqual(kept.split('\n\n'), needed);
    const without = others.slice(0, 4).join('\n');
    assert.equal(extractCode(without, 'evalplus', 'g'), without);
    const cut = 'def f(x):\n    if x:\n        return [1,';
    assert.equal(extractCode(`import re\n${cut}`, 'evalplus', 'f'), `import re\n\n${cut}`);
  });

  const judged = (code: string, entry = 'f', functionSignature = 'def f(x):'): string =>
    judgedCode(`\`\`\`python\n${code}\n\`\`\``, 'instruct', { entry, functionSignature });
  const plain = (code: string): string => code.replace(/\n+/g, '\n').trim();

  it('judges a program without the tests and examples below its function', () => {
    const program =
      'import sys\nsys.setrecursionlimit(10**6)\nmemo = {}\nmemo[0] = 1\n\ndef f(x):\n    y = helper(x)\n    return y';
    for (const [tail, kept] of rowsOf<[string, string]>('core/judgedPrograms.jsonl')) {
      const code = judged(`${program}\n\n${tail}`);
      assert.equal(plain(code), plain(`${program}\n${kept}`), tail);
    }
    const whole = 'def main():\n    print(int(input()))\n\nmain()';
    assert.equal(judged(whole, 'main'), whole);
    const method = 'class Solution:\n    def go(self):\n        pass';
    assert.equal(judged(`${method}\n\nprint(Solution().go())`, 'Solution.go'), method);
  });

  it('judges a program with the imports of the signature that it uses and lacks', () => {
    const rows = rowsOf<[imports: string, program: string, added: string]>('core/importsOfSignatures.jsonl');
    for (const [imports, program, added] of rows) {
      const signature = `${imports}\n\ndef f(x):`;
      const [first = ''] = /^[\s\S]*__future__.*\n/.exec(program) ?? [];
      const whole = `${first}${added}\n${program.slice(first.length)}`;
      assert.equal(plain(judged(program, 'f', signature)), plain(whole), program);
      assert.equal(judged(judged(program, 'f', signature), 'f', signature), judged(program, 'f', signature), program);
    }
    const program = 'def f(x) -> List[int]:\n    return x';
    const signature = 'from typing import List\n\ndef f(x) -> List[int]:';
    assert.equal(judgedCode(program, 'tiny', { entry: 'f', functionSignature: signature }), program);
  });

  it('accepts an unclosed block', () => {
    assert.equal(extractCode(`\`\`\`python\n${PROGRAM}`, 'instruct'), PROGRAM);
  });

  it('accepts code without a fence from its first line on', () => {
    assert.equal(extractCode(`The answer is:\n${PROGRAM}\n`, 'instruct'), PROGRAM);
    assert.equal(extractCode(`import re\n${PROGRAM}\n`, 'instruct'), `import re\n${PROGRAM}`);
  });

  describe('extractCode on ordinary answers of public models', () => {
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

    it('takes a program for standard input rather than an example of its output', () => {
      const answer = `${block('print(int(input()) + 1)')}\nExample:\n\`\`\`\n10\n\`\`\``;
      assert.equal(extractCode(answer, 'instruct', 'main'), 'print(int(input()) + 1)');
    });

    it('keeps a program with a mistake unchanged', () => {
      for (const code of ['def f(x)\n    return x', 'def f(x):\n    return x +', 'def f(x):\n    if x:\n  return x'])
        for (const answer of [code, block(code)]) assert.equal(extractCode(answer, 'instruct', 'f'), code);
    });

    it('keeps a program that contains fences', () => {
      for (const line of [
        '    # removes a trailing ```',
        '    """ ```f(1) -> 1``` """',
        '    text = """\n~~~~~\n"""',
      ]) {
        const code = `def f(x):\n${line}\n    return x`;
        assert.equal(extractCode(`${block(code)}\nDone.`, 'instruct', 'f'), code);
      }
    });

    it('takes the last program, even if it has syntax that the grammar does not know', () => {
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

    it('finds no program in prose', () => {
      for (const answer of ['definitely, the answer is x', 'classes are not needed', ''])
        assert.equal(extractCode(answer, 'instruct', 'f'), '');
    });

    it('reads a large answer in little time', () => {
      const text = `def f(x):\n${'  ) (\n'.repeat(20_000)}`;
      assert.equal(extractCode(text, 'instruct', 'f'), text.trimEnd());
      for (const hostile of ['\n'.repeat(99_000), `\`\`\`${'a'.repeat(99_000)}\``, `\`\`\`\n${'>'.repeat(99_000)}`])
        extractCode(`def f(x): return x${hostile}`, 'instruct', 'f');
    });
  });

  describe('extractCode on answers with several parts', () => {
    const F = '```';
    const block = (code: string, language = 'python', fence = F): string => `${fence}${language}\n${code}\n${fence}`;
    const withFence = `def f(x):\n    """\n${F}\n    """\n    return x`;
    const HELPER = 'def g(x):\n    return x';
    const CALLER = 'def f(x):\n    return g(x)';
    const TRIED = 'try:\n    import math\nexcept ImportError:\n    math = None';
    const LOOP = 'for _ in range(int(input())):\n    a, b = map(int, input().split())\n    print(a + b)';
    const DOCUMENTED = 'def f(x):\n    """\n    ```\n    f(1)\n    ```\n    """\n    return x';
    const READER = 'n = int(input())\nprint(n + 1)';
    const UNPACKING = 'n, *a = map(int, input().split())\nprint(sum(a))';
    const CONDITION = 'if (n := int(input())) > 0:\n    print(n)\nelse:\n    print(0)';
    const ATTEMPT = 'try:\n    n = int(input())\nexcept EOFError:\n    n = 0\nprint(n)';
    const OPEN_CALL = 'n = int(\n    input()\n)\nprint(n)';
    const ASSIGNMENTS = `n = int(input())\na = [0] * n\na[0] = 1\nn += 1\nn //= 2\n*b, c = a\n\n${PROGRAM}\nprint(f(n))`;
    const GLOBAL = 'count = 0\n\ndef f(x):\n    global count\n    count += x\n    return count';
    const CASES: [what: string, answer: string, program: string, entry?: string][] = [
      ['a constant before bare code', `MOD = 10**9+7\n\n${PROGRAM} % MOD`, `MOD = 10**9+7\n\n${PROGRAM} % MOD`],
      ['a constant with a type', `MOD: int = 7\n\n${PROGRAM} % MOD`, `MOD: int = 7\n\n${PROGRAM} % MOD`],
      ['two constants', `A, B = 1, 2\n\n${PROGRAM} + A`, `A, B = 1, 2\n\n${PROGRAM} + A`],
      ['an import that may fail', `${TRIED}\n\n${PROGRAM} + math.e`, `${TRIED}\n\n${PROGRAM} + math.e`],
      ['a bare loop', `Sure:\n\n${LOOP}`, LOOP, 'main'],
      [
        'a bare loop that reads',
        'while (n := input()) != "0":\n    print(n)',
        'while (n := input()) != "0":\n    print(n)',
        'main',
      ],
      ['a program with a fence in its documentation', `${block(DOCUMENTED)}\nDone.`, DOCUMENTED],
      ['a table over several lines', `T = [\n    1,\n]\n\n${PROGRAM} + T[0]`, `T = [\n    1,\n]\n\n${PROGRAM} + T[0]`],
      ['prose that looks like an assignment', `Complexity = O(n)\n\n${PROGRAM}`, PROGRAM],
      ['a bare lambda', 'Sure:\n\nf = lambda x: x\n\nIt returns x.', 'f = lambda x: x'],
      ['a bare program', READER, READER, 'main'],
      ['a bare program in prose', `It adds one:\n\n${READER}\n\nDone, I think.`, READER, 'main'],
      ['a bare program that begins with several names', UNPACKING, UNPACKING, 'main'],
      ['a bare program that begins with a condition', CONDITION, CONDITION, 'main'],
      ['a bare program that begins with an attempt', ATTEMPT, ATTEMPT, 'main'],
      ['a bare program whose first statement has several lines', OPEN_CALL, OPEN_CALL, 'main'],
      ['assignments of every kind before a definition', ASSIGNMENTS, ASSIGNMENTS, 'main'],
      ['a variable that bare code declares global', GLOBAL, GLOBAL],
      ['prose that begins like code', `f(x) returns x.\n\nMOD = 7\n\n${PROGRAM} % MOD`, `MOD = 7\n\n${PROGRAM} % MOD`],
      [
        'an import in the middle',
        `n = int(input())\nimport math\nprint(n)`,
        'n = int(input())\nimport math\nprint(n)',
        'main',
      ],
      ['a program before an example of its output', `${block(READER, '')}\nFor 2:\n${block('3', '')}`, READER, 'main'],
      ['a program between examples', `${block('2', '')}\n${block(READER, '')}\n${block('3', '')}`, READER, 'main'],
      [
        'a program that reads nothing',
        `${block('print(42)', '')}\nIt prints:\n${block('42', '')}`,
        'print(42)',
        'main',
      ],
      ['a lambda before its use', `${block('f = lambda x: x')}\n${block('print(f(2))')}`, 'f = lambda x: x'],
      ['an annotated name', `${block('f: Any = len')}\n${block('print(f(""))')}`, 'f: Any = len'],
      [
        'a method that is a name',
        `${block('class S:\n    g = len\n    f = g')}\n${block('S().f("")')}`,
        'class S:\n    g = len\n    f = g',
        'S.f',
      ],
      ['a block on one line', `${F}python def f(x): return x${F}`, 'def f(x): return x'],
      ['inline code', '`def f(x): return x`', 'def f(x): return x'],
      ['code on the line of the fence', `${F}python def f(x):\n    return x\n${F}`, PROGRAM],
      ['a title on the line of the fence', block(PROGRAM, 'python title="f.py"'), PROGRAM],
      ['a longer fence', block(PROGRAM, 'python', '````'), PROGRAM],
      ['a longer fence without a language', block(PROGRAM, '', '`````'), PROGRAM],
      ['tildes around backticks', block(withFence, 'python', '~~~'), withFence],
      ['a longer fence around backticks', block(withFence, 'python', '````'), withFence],
      ['an answer in a block', block(`Here:\n${block(PROGRAM)}`, 'markdown', '````'), PROGRAM],
      ['an answer in a block with equal fences', block(`Here:\n${block(PROGRAM)}`, 'markdown'), PROGRAM],
      ['a block in a block', block(block(PROGRAM), ''), PROGRAM],
      ['capitals', block(PROGRAM, 'Python3'), PROGRAM],
      ['a version', block(PROGRAM, 'python3.11'), PROGRAM],
      ['another language that holds Python', block(PROGRAM, 'tool_code'), PROGRAM],
      ['tags', `<answer>\n${PROGRAM}\n</answer>`, PROGRAM],
      ['tags on the lines of the code', `<pre><code class="language-python">${PROGRAM}</code></pre>\nDone`, PROGRAM],
      ['tags around a block', `<answer>\n${block(PROGRAM)}\n</answer>`, PROGRAM],
      ['tags of Code Llama', `[PYTHON]\n${PROGRAM}\n[/PYTHON]\nIt returns x.`, PROGRAM],
      ['prompts', block('>>> def f(x):\n...     return x\n>>> a = f(2)\n>>> a\n2', 'pycon'), `${PROGRAM}\na = f(2)\na`],
      ['thinking', `<think>\n${block(CALLER)}\n</think>\n${block(PROGRAM)}`, PROGRAM],
      ['thinking before bare code', `<think>\n${CALLER}\n</think>\n${PROGRAM}`, PROGRAM],
      ['nothing but thinking', `<think>${block(PROGRAM)}\n</think>\nAs above.`, PROGRAM],
      ['a helper in a block before', `${block(HELPER)}\nthen\n${block(CALLER)}`, `${HELPER}\n\n${CALLER}`],
      ['a helper in a block after', `${block(CALLER)}\nwith\n${block(HELPER)}`, `${HELPER}\n\n${CALLER}`],
      [
        'imports in a block',
        `${block('from a import (b,\n  g)')}\n${block(CALLER)}`,
        `from a import (b,\n  g)\n\n${CALLER}`,
      ],
      ['a constant in a block', `${block('g = len')}\n${block(CALLER)}`, `g = len\n\n${CALLER}`],
      ['a draft', `${block(`${HELPER}\n\n${CALLER}`)}\nShorter:\n${block(PROGRAM)}`, PROGRAM],
      ['a function with the name of a parameter', `${block('def x(a):\n    return a')}\n${block(PROGRAM)}`, PROGRAM],
      [
        'a function with the name of a built-in',
        `${block('def sum(a):\n    return a')}\n${block('def f(x):\n    return sum(x)')}`,
        'def f(x):\n    return sum(x)',
      ],
      [
        'a call of itself',
        `${PROGRAM}\n\nif __name__ == "__main__":\n    f(1)`,
        `${PROGRAM}\n\nif __name__ == "__main__":\n    f(1)`,
      ],
      ...['class f below.', 'import the module first', 'from here on:', 'def is a keyword'].map(
        (prose): [string, string, string] => [`prose: ${prose}`, `${prose}\n\n${PROGRAM}`, PROGRAM],
      ),
      ['a name with an accent', `${block('é = len')}\n${block('print(é(""))')}`, 'é = len', 'é'],
      ['a constant with an accent', `à = 1\n\n${PROGRAM} + à`, `à = 1\n\n${PROGRAM} + à`],
      ['a helper with an accent', `${block('é = len')}\n${block(`${PROGRAM} + é`)}`, `é = len\n\n${PROGRAM} + é`],
      ['Windows line ends', block(PROGRAM).replace(/\n/g, '\r\n'), PROGRAM],
    ];
    for (const [what, answer, program, entry = 'f'] of CASES)
      it(what, () => assert.equal(extractCode(answer, 'instruct', entry), program, answer));

    it('takes little time for any answer', () => {
      for (const part of [
        `${F}python\nx = 1\n${F}\n`,
        `${F}md\n`,
        'x = 1\n',
        'for ',
        'a, ',
        'a[0], ',
        'for x in y:\n',
        '<code ',
        '[PYTHON]',
        '>>> ',
      ])
        for (const entry of ['f', 'main'])
          for (const end of ['', `\n${PROGRAM}`])
            extractCode(part.repeat(90_000 / part.length) + end, 'instruct', entry);
    });

    it('finds no program in inline code that only calls the function', () =>
      assert.equal(extractCode('Call it:\n`f(1)`\n', 'instruct', 'f'), ''));
  });

  it('returns an empty text without a program', () => {
    assert.equal(extractCode('I cannot do that.', 'instruct'), '');
    assert.equal(extractCode('', 'tiny'), '');
    assert.equal(extractCode('  \n', 'tiny'), '');
  });

  it('returns the answer of the shipped model unchanged', () => {
    assert.equal(extractCode(`${PROGRAM}\n`, 'tiny'), PROGRAM);
    assert.equal(extractCode('for x then sum', 'tiny'), 'for x then sum');
  });

  it('finds the block that defines a method or a class', () => {
    const program = 'class Solution:\n    def g(self, x):\n        return x';
    const text = `\`\`\`python\n${program}\n\`\`\`\n\`\`\`python\nprint(Solution().g(1))\n\`\`\``;
    for (const entry of ['Solution.g', 'Solution']) assert.equal(extractCode(text, 'instruct', entry), program);
  });
});
