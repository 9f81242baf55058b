import assert from 'node:assert/strict';
import { mappedBytes, samplePeakMemory } from '../../lab/bench/peers/peakMemory.js';

const mapping = (from: string, part: string, rss: number, anonymous = 0): string =>
  `${from}-7f0000ffffff ${part}  /a file\nSize: 9000 kB\nRss: ${rss} kB\nAnonymous: ${anonymous} kB\nVmFlags: rd mr\n`;

describe('the peak memory of our side of a benchmark', () => {
  it('counts a mapped part of a file once, and no allocated memory with it', () => {
    const smaps = [
      mapping('7f0000000000', 'r--p 00000000 fe:00 17', 100),
      mapping('7f0100000000', 'r--p 00000000 fe:00 17', 80), // mapped again for another graph
      mapping('7f0200000000', 'r--p 00040000 fe:00 17', 20),
      mapping('7f0300000000', 'r--p 00000000 fe:00 18', 5, 2),
      mapping('7f0400000000', 'rw-p 00000000 00:00 0', 4000, 4000),
    ];
    assert.equal(mappedBytes(smaps.join('')), (100 + 20 + 3) * 1024);
  });

  it('includes allocated memory', function () {
    if (process.platform !== 'linux') this.skip(); // samples are read from /proc
    const peak = samplePeakMemory();
    const before = peak();
    const used = Buffer.alloc(64e6, 1);
    assert.ok(peak() > before + 50e6, `${used.length}`);
  });
});
