import assert from 'node:assert/strict';
import { equalValues } from '../../core/comparison/compare.js';
import { equalTokens } from '../../core/comparison/tokens.js';
import { definitionsOf, importsOf } from '../../core/parse/definitions.js';
import { testsOfModule } from '../../core/parse/testModule.js';

const CODE = `import os
from typing import (List,
  Optional)

@cache
def outer(a,
          b: int = 1) -> int:
    def inner(): pass
    return 1

class Solution(Base):
    limit = 3
    @property
    def size(self) -> int: return 1
    async def go(self, xs: List[int]): ...

x = lambda: 0
`;

describe('the definitions of a program', () => {
  it('include top-level functions and classes with their headers', () => {
    const shown = definitionsOf(CODE).map(({ name, kind, header, methods }) => [
      name,
      kind,
      header,
      methods.map((m) => m.header),
    ]);
    assert.deepEqual(shown, [
      ['outer', 'function', 'def outer(a,\n          b: int = 1) -> int:', []],
      ['Solution', 'class', 'class Solution(Base):', ['def size(self) -> int:', 'async def go(self, xs: List[int]):']],
    ]);
    assert.deepEqual(definitionsOf('def (:\n'), []);
  });
  it('include the imports', () => {
    assert.deepEqual(importsOf(CODE), ['import os', 'from typing import (List,\n  Optional)']);
  });
});

describe('test source that is read as values', () => {
  it('is complete if every statement is a literal assert or checks nothing', () => {
    const source = `"""doc"""
import math
LIMIT = 3

def check(candidate):
    "doc"
    assert candidate(1, (2,)) == [True], "message"
    assert not candidate(0, 0)
    assert True
check(f)
assert f(2, 3) is None
`;
    assert.deepEqual(testsOfModule(source, 'f'), {
      rest: undefined,
      tests: [
        { args: [1, { t: [2] }], expected: [true] },
        { args: [0, 0], expected: false, truth: true },
        { args: [2, 3], expected: null },
      ],
    });
  });
  it('is incomplete if another statement could check something', () => {
    for (const extra of [
      'if x:\n  assert f(1) == 1',
      'g(f)',
      'assert f(1) < 2',
      'assert f(x) == 1',
      'def test_a():\n  assert g(f)',
    ]) {
      const { tests, rest } = testsOfModule(`assert f(0) == 0\n${extra}\n`, 'f');
      assert.deepEqual([tests.length, rest?.trim()], [1, extra]);
    }
    assert.deepEqual(testsOfModule('assert f(', 'f'), { tests: [], rest: 'assert f(' });
    assert.equal(testsOfModule('assert f(1, 2) == 3', 'f', 1).rest, 'assert f(1, 2) == 3');
  });
  it('keeps every definition that the rest uses, and removes the calls of tests that were read', () => {
    const test = 'def test_a():\n  assert f(1) == 2\n';
    const check = 'def check(c):\n  assert c(1) == 2\n';
    const group = 'class TestA:\n  def test_a(self):\n    assert f(1) == 2\n';
    const other = 'assert f(1) < 3\n';
    for (const [source, rest] of [
      [`${test}test_a()\n`, undefined],
      [`${check}def test_check():\n  check(f)\ntest_check()\n`, undefined],
      [`${check}check(f)\n${other}`, other],
      [`${test}def test_b():\n  test_a()\n  ${other}`, 'all'],
      [`${test}for t in [test_a]:\n  t()\n`, 'all'],
      [`${group}class TestB(TestA):\n  def test_b(self):\n    ${other}`, 'all'],
      [`${test}def test_b():\n  test_a()\nrun = test_b\nrun(1)\n`, 'all'],
      [`${test}unknown()\n`, 'unknown()\n'],
    ] as const) {
      const found = testsOfModule(source, 'f');
      assert.deepEqual([found.tests.length, found.rest?.trim()], [1, (rest === 'all' ? source : rest)?.trim()], source);
    }
  });
});

describe('bare asserts in problem files', () => {
  it('compare the truth value, unless they are comparisons, which compare the value', () => {
    const source =
      'assert f(1)\nassert not f(2), "no"\nassert (f(3))\nassert f(4) == True\nassert f(5) is None\nassert f(6) is False\nassert bool(f(7))\nassert not not f(8)\nassert bool(f(9)) == False\nassert False is bool(f(0))';
    assert.deepEqual(testsOfModule(source, 'f').tests, [
      { args: [1], expected: true, truth: true },
      { args: [2], expected: false, truth: true },
      { args: [3], expected: true, truth: true },
      { args: [4], expected: true },
      { args: [5], expected: null },
      { args: [6], expected: false },
      { args: [7], expected: true, truth: true },
      { args: [8], expected: true, truth: true },
      { args: [9], expected: false, truth: true },
      { args: [0], expected: false, truth: true },
    ]);
    const methods = 'self.assertFalse(not f(1))\nself.assertTrue(bool(f(2)))\nself.assertEqual(bool(f(3)), False)';
    assert.deepEqual(testsOfModule(methods, 'f').tests, [
      { args: [1], expected: true, truth: true },
      { args: [2], expected: true, truth: true },
      { args: [3], expected: false, truth: true },
    ]);
    assert.deepEqual(testsOfModule('assert bool(1)', 'bool').tests, [{ args: [1], expected: true, truth: true }]);
    for (const other of [
      'assert f(1) in [2]',
      'assert 0 < f(1) < 3',
      'assert f(1) != 2',
      'assert f(1) and f(2)',
      'assert bool(f(1)) == 1',
    ])
      assert.deepEqual(testsOfModule(other, 'f'), { tests: [], rest: other });
  });
});

describe('the comparison of printed text', () => {
  const tolerance = { absolute: 1e-9, relative: 1e-6 };
  const same = (got: string, wanted: string): boolean => equalTokens(got, wanted, tolerance);
  it('compares text token by token', () => {
    assert.ok(same('1 2\n3', '1  2 3\n'));
    assert.ok(same('', ' \n'));
    assert.ok(!same('12 3', '1 23'));
    assert.ok(!same('1 2', '1 2 3'));
    assert.ok(!same('yes', 'YES'));
  });
  it('ignores the case of words only on request', () => {
    const equal = (text: 'tokens' | 'tokens-any-case'): boolean =>
      equalValues('Yes 1E-7', 'YES 0.0', { text, absolute: 1e-6 });
    assert.deepEqual([equal('tokens'), equal('tokens-any-case')], [false, true]);
    assert.ok(!equalValues('Yes', 'No', { text: 'tokens-any-case' }));
  });
  it('accepts a whole number that is written as a float, but only the exact number', () => {
    assert.ok(same('3.0', '3'));
    assert.ok(same('3.', '3') && same('3.000 -2e1', '3 -20') && same('-0 -0.000', '0 0'));
    assert.ok(same('1e+18', '1000000000000000000'));
    assert.ok(!same('1e16', '10000000000000001'));
    assert.ok(!same('12345678901234568.0', '12345678901234567'));
    assert.ok(!same('3.0000001', '3') && !same('30.0', '3') && !same('-3.0', '3') && !same('+3', '3'));
  });
  it('has a tolerance for numbers with a fraction or an exponent', () => {
    assert.ok(same('1.50', '1.5') && same('-0.000', '0.0') && same('1000000.5', '1000000.0'));
    assert.ok(!same('1000002.5', '1000000.0') && !same('1e-8', '0.0'));
    assert.ok(!same('1.0', '1e999') && !same('1e999', '1.0') && same('10e998', '1e999') && !same('inf', '1e999'));
    assert.ok(same('nan inf', 'nan inf') && !same('0.5', 'nan') && !same('inf', '0.5'));
  });
  it('takes linear time for long numerals', () => {
    const long = '0'.repeat(1_000_000);
    assert.ok(
      same(`1${long}.0`, `1${long}`) && !same(`1${long}.${long}x`, '0.5') && !same(long, '0.5'.repeat(300_000)),
    );
  });
  it('compares numerals with a fraction as numbers, and whole numerals as text', () => {
    assert.ok(same('0.3333333', '0.33333333'));
    assert.ok(same('1e-10', '0.0'));
    assert.ok(same('2', '2.0'));
    assert.ok(!same('0.334', '0.333'));
    assert.ok(!same('007', '7'));
    assert.ok(!same('nan', '0.5'));
    assert.ok(!same('0x1', '1.0'));
  });
});
