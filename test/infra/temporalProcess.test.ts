import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { GUARD } from '../../infra/temporalProcess.js';
import { temporaryFolder } from './support.js';

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe('the guard of an embedded server', () => {
  for (const [when, closes] of [
    ['before it has read the id of the server', true],
    ['later', false],
  ] as const)
    it(`ends the server if the program that started it dies ${when}`, async () => {
      const folder = temporaryFolder();
      const file = join(folder, 'pid');
      const server = join(folder, 'server.sh');
      writeFileSync(server, `#!/bin/sh\necho $$ > ${file}\nexec sleep 60\n`, { mode: 0o755 });
      // the first `sleep` delays the line of the guard until its reader has gone
      const guard = closes ? GUARD.replace('echo "$server"', 'sleep 0.5; echo "$server"') : GUARD;
      const child = spawn('/bin/sh', ['-c', guard, 'guard', server], { stdio: ['pipe', 'pipe', 'ignore'] });
      if (!closes) await once(child.stdout, 'data');
      while (!existsSync(file) || readFileSync(file, 'utf8') === '') await sleep(10);
      child.stdout.destroy();
      child.stdin.destroy();
      await once(child, 'exit');
      await sleep(200);
      const pid = Number(readFileSync(file, 'utf8'));
      assert.ok(pid > 0 && !isAlive(pid), 'the server has ended');
    });
});
