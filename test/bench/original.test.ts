import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { figuresOf, originalMarkdown } from '../../bench/original/table.js';
import { ROOT } from '../../infra/root.mjs';

const updates = [
  { peer: 'original', role: 'generator', seconds: 60, tokens: 600, updated: true },
  { peer: 'ours', role: 'generator', seconds: 100, tokens: 8000, updated: true },
  { peer: 'original', role: 'generator', seconds: 40, tokens: 400, updated: false },
  { peer: 'ours', role: 'generator', seconds: 60, tokens: 8000, updated: true },
  { peer: 'original', role: 'discriminator', seconds: 10, tokens: 200, updated: false },
  { peer: 'ours', role: 'discriminator', seconds: 10, tokens: 900, updated: true },
] as const;

describe('bench original', () => {
  it('divides all tokens by all seconds of whole updates', () => {
    const original = updates.filter(({ peer, role }) => peer === 'original' && role === 'generator');
    assert.deepEqual(figuresOf(original), { perUpdate: 50, perSecond: 10, skipped: 1 });
  });

  it('shows the ratio of tokens per second for each role, and what both solve after the same time', () => {
    const page = originalMarkdown({
      command: 'npm run bench -- original',
      startedAt: '2026-11-23T00:00:00Z',
      seconds: 280,
      machine: { cpu: 'a CPU', cores: 2, memory: 2 ** 34, loadAtStart: 0.1 } as never,
      updates: [...updates],
      peakBytes: { ours: 2 ** 31, original: 3 * 2 ** 30 },
      equalTime: {
        problems: 16,
        ours: { before: 0.0625, after: 0.5, seconds: 600 },
        original: { before: 0, after: 0.125, seconds: 660, updates: 4 },
      },
    });
    assert.match(page, /\| generator \| original \| 50\.0 s \| 10\.0 \| 1 \|/);
    assert.match(page, /\| generator \| ours \| 80\.0 s \| 100\.0 \| 0 \| 10\.0× \|/);
    assert.match(page, /\| discriminator \| ours \| 10\.0 s \| 90\.0 \| 0 \| 4\.5× \|/);
    assert.match(page, /\| original \| 3\.0 GiB \| 11\.0 min, 4 updates \| 0 of 16 \| 2 of 16 \|/);
    assert.match(page, /\| ours \| 2\.0 GiB \| 10\.0 min \| 1 of 16 \| 8 of 16 \|/);
  });

  it('names the checkout that it needs', () => {
    const args = [join(ROOT, 'dist', 'bench', 'main.js'), 'original', '--checkout', '/nowhere'];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    assert.equal(status, 2);
    assert.match(stderr, /^bench: --checkout must name a checkout of the original project; see --help\n$/);
  });
});
