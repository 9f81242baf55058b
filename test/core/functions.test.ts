// Reads test functions from answers of the discriminator.
import assert from 'node:assert/strict';
import { MODULES, MOST_CHARACTERS, MOST_STATEMENTS, salvageFunctions } from '../../core/parse/functions.js';

const read = (answer: string, limit = 5) => {
  const { functions, malformed } = salvageFunctions(answer, limit);
  return [functions, malformed];
};
const isRead = (body: string): boolean => salvageFunctions(`def test_it():\n    ${body}\n`, 1).functions.length === 1;

describe('salvageFunctions', () => {
  it('reads functions in fences and prose, in their order, up to a limit', () => {
    const answer =
      'Two tests:\n```python\ndef test_one():\n    assert solve(1) == 2\n\ndef test_two() -> None:\n    x = [\n        1,\n    ]\n    assert solve(x) == 2\n```\nDone. def test(): is how they start.\n  def test_three(): assert solve(3) == 4\n';
    const [one, two, three] = [
      'def test():\n    assert solve(1) == 2',
      'def test() -> None:\n    x = [\n        1,\n    ]\n    assert solve(x) == 2',
      'def test(): assert solve(3) == 4',
    ];
    assert.deepEqual(read(answer), [[one, two, three], 0]);
    assert.deepEqual(read(answer, 2), [[one, two], 0]);
    assert.deepEqual(read('assert solve(1) == 2\ndef check(): pass'), [[], 0]);
  });

  it('gives equal texts for functions that differ in name, indentation, comments and blank lines only', () => {
    const texts = [
      'def test_a():\n    x = 1\n    assert solve(x) == 2',
      '  def test_b():\n      # why\n      x = 1 # one\n\n      assert solve(x) == 2\n\n',
      'def test_c():\r\n    x = 1\r\n    assert solve(x) == 2 # the last\r\n',
    ];
    assert.equal(new Set(texts.flatMap((text) => salvageFunctions(text, 1).functions)).size, 1);
  });

  it('keeps texts of several lines as they are', () => {
    const code = 'def test():\n    assert solve("""a  \n\n# b""") == 2';
    assert.deepEqual(read(code), [[code], 0]);
  });

  it('counts functions with parameters, decorators, errors, or that are asynchronous or cut', () => {
    for (const code of [
      'def test_a(x):\n    assert solve(x) == 2',
      'def test_a(*, x=1):\n    assert solve(x) == 2',
      '@pytest.mark.skip\ndef test_a():\n    assert solve(1) == 2',
      'async def test_a():\n    assert solve(1) == 2',
      'def test_a():\n    assert solve(1 == 2',
      'def test_a():',
      'def test_a(',
    ])
      assert.deepEqual(read(code), [[], 1], code);
    assert.deepEqual(read('class TestA:\n    def test_a(self):\n        pass\n    def test_b(self): pass'), [[], 2]);
  });

  it('limits the size of a function', () => {
    const statements = (count: number) => Array.from({ length: count }, () => 'solve(1)').join('\n    ');
    assert.ok(isRead(statements(MOST_STATEMENTS)) && !isRead(statements(MOST_STATEMENTS + 1)));
    assert.ok(!isRead(`if True:\n        ${statements(MOST_STATEMENTS).replaceAll('\n', '\n    ')}`));
    assert.ok(isRead(`assert solve("${'x'.repeat(MOST_CHARACTERS - 50)}")`));
    assert.ok(!isRead(`assert solve("${'x'.repeat(MOST_CHARACTERS)}")`));
  });

  it('allows modules that know neither time, chance nor the system, and of pytest what checks', () => {
    for (const name of MODULES) assert.ok(isRead(`import ${name}; assert solve(1)`), name);
    for (const body of [
      'import math, heapq; assert solve(math.pi)',
      'from itertools import product, chain; assert solve(1)',
      'import pytest\n    with pytest.raises(ValueError): solve(1)',
      'from pytest import approx, raises; assert solve(1) == approx(2)',
      'for _ in range(3): assert solve(_)',
      'assert [x.real for x in solve(1)] == sorted({1: 2}.items(), key=lambda pair: pair[1])',
    ])
      assert.ok(isRead(body), body);
    for (const body of [
      'import os',
      'import math as m',
      'import math, os',
      'from math import *',
      'from os import path',
      'from .x import y',
      'import collections.abc',
      'import pytest; pytest.skip()',
      'import pytest; p = pytest',
      'from pytest import skip',
      'open("x")',
      '__import__("os")',
      'ｅval("1")',
      'getattr(solve, "x")',
      'solve.__class__',
      'solve.＿x',
      'x = (y for y in ()).gi_frame',
      'assert solve(f"{solve.__name__}")',
      'assert hash("a") % 2',
    ])
      assert.ok(!isRead(body), body);
  });

  it('reads long hostile answers in little time', () => {
    for (const text of [
      'def test('.repeat(10_000),
      'def test(\n'.repeat(10_000),
      `def test():\n    ${'['.repeat(50_000)}`,
      'def test():\n  pass\n'.repeat(5000),
      '@x\ndef test():\n  pass\n'.repeat(5000),
      ' '.repeat(100_000),
      `${' '.repeat(50_000)}def test(): pass`,
    ])
      assert.ok(salvageFunctions(text, 5).functions.length <= 5);
  });
});
