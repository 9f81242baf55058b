// The hook of --on-waiting: commands and servers that work, fail or refuse.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { tellNeed } from '../../cli/run/onWaiting.js';
import { inProcess, removeFolders, temporaryFolder } from './support.js';

const RUN = {
  runId: 'r',
  state: 'waiting',
  failure: { activity: 'trainPolicy', code: 'BAD_MODEL', message: '$(touch x) `id` "\'', inStep: false },
} as const;
const REASON = 'trainPolicy failed: BAD_MODEL: $(touch x) `id` "\'';

describe('the hook of --on-waiting', () => {
  after(removeFolders);

  async function noted(hook?: string): Promise<string[]> {
    const lines: string[] = [];
    await tellNeed({ note: (line) => void lines.push(line) }, hook)(RUN);
    assert.match(
      lines[0]!,
      /^run 'r' waits for a decision: trainPolicy failed: .*; try again with: npx gauntlet resume r /,
    );
    return lines.slice(1);
  }

  it('is a command, which finds the facts in its environment', async () => {
    const file = join(await temporaryFolder(), 'told');
    const names = ['RUN', 'STATE', 'REASON', 'COMMAND'].map((name) => `"$GAUNTLET_${name}"`).join(' ');
    assert.deepEqual(await noted(`printf '%s\n' ${names} > ${file}`), []);
    assert.equal(await readFile(file, 'utf8'), `r\nwaiting\n${REASON}\nnpx gauntlet resume r\n`);
  });

  it('is one warning if it fails twice', async () => {
    const file = join(await temporaryFolder(), 'calls');
    let status = 500;
    let calls = 0;
    const server = createServer((_, response) => {
      calls++;
      response.writeHead(status, { location: '/elsewhere' }).end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/secret`;
    const warning = "warning: the hook of --on-waiting failed for run 'r': ";
    assert.deepEqual(await noted(`echo called >> ${file}; exit 3`), [`${warning}exit code 3`]);
    assert.equal(await readFile(file, 'utf8'), 'called\ncalled\n');
    assert.deepEqual(await noted('kill $$'), [`${warning}ended by SIGTERM`]);
    assert.deepEqual(await noted(url), [`${warning}the server answers 500`]);
    assert.equal(calls, 2);
    status = 302;
    assert.deepEqual(await noted(url), [`${warning}unexpected redirect`]);
    server.close();
    const [refused = ''] = await noted(url);
    assert.ok(refused.startsWith(`${warning}connect ECONNREFUSED`) && !refused.includes('secret'), refused);
  });

  it('is refused if it is empty or no URL', async () => {
    for (const hook of [' ', 'http://']) {
      const { err, code } = await inProcess('up', '--on-waiting', hook, '--store', '/nowhere');
      assert.deepEqual([err.includes('It is neither a URL nor a command.'), code], [true, 2], err);
    }
  });
});
