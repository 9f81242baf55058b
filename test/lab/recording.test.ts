import assert from 'node:assert/strict';
import { animation, framesOf, Screen } from '../../lab/recording.js';

const shown = (text: string): string[] => {
  const screen = new Screen();
  screen.write(text);
  return screen.lines();
};

describe('the recording of a terminal', () => {
  it('redraws lines in place, clears below the cursor, and keeps colours', () => {
    assert.deepEqual(shown('one\r\ntwo\r\nthree'), ['one', 'two', 'three']);
    assert.deepEqual(shown('one\r\ntwo\r\nthree\u001b[1A\u001b[1GTWO\u001b[0K'), ['one', 'TWO', 'three']);
    assert.deepEqual(shown('one\r\ntwo\r\nthree\u001b[2A\u001b[1G\u001b[0Jnote\r\n'), ['note', '']);
    assert.deepEqual(shown('a \u001b[36m<█>\u001b[39m b'), ['a <tspan fill="#56d4dd">&#60;█&#62;</tspan> b']);
  });

  it('has a frame for each change, shortens pauses, and states the real time', () => {
    const output = Buffer.from('…ab\rxb');
    const { frames, seconds } = framesOf(output, '1.5 3\n0.1 1\n30 1\n0.25 1\n2 1\n');
    assert.deepEqual(
      frames.map(({ lines }) => lines[0]),
      ['…', '…a', '…ab', 'xab'],
    );
    assert.ok(frames.at(-1)!.at < 1, `${frames.at(-1)!.at} s`);
    assert.equal(seconds, 33.85);
  });

  it('shows each frame for its time, and the last one without animations', () => {
    const picture = animation(
      [
        { at: 0, lines: ['one', ''] },
        { at: 2, lines: ['one', 'two'] },
      ],
      '$ demo',
    );
    assert.equal(picture.match(/<text id=/g)!.length, 2, 'equal lines are in the file once');
    assert.match(
      picture,
      /@keyframes f0\{0%\{visibility:visible\}0\.000%\{visibility:visible\}14\.286%\{visibility:hidden\}\}/,
    );
    assert.match(picture, /@keyframes f1\{0%\{visibility:hidden\}14\.286%\{visibility:visible\}\}/);
    assert.doesNotMatch(picture, /https?:(?!\/\/www\.w3\.org\/2000\/svg)|<script/);
  });
});
