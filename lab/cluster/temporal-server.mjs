// Builds Temporal's server for a real database, once, from the Go module proxy into the user's cache. The CLI embeds the same
// server, but only with SQLite. `npm run cluster` uses it. Run this file to build the server in advance.
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { goBuild } from '../../infra/go-build.mjs';
import { withLock } from '../../infra/lock.mjs';
import { cacheDir } from '../../infra/temporal-cli.mjs';

const VERSION = '1.29.1'; // the same version as in the CLI of temporal-cli.mjs
const MODULE = 'go.temporal.io/server';
const REMOVE = { recursive: true, force: true };

/**
 * @param {{ env?: Record<string, string | undefined>, log?: (line: string) => void }} [options]
 * @returns {Promise<{ server: string, sqlTool: string }>} the paths of the programs
 */
export async function provideTemporalServer({ env = process.env, log = () => {} } = {}) {
  const folder = join(cacheDir(env), `temporal-server-${VERSION}`);
  const programs = { server: join(folder, 'temporal-server'), sqlTool: join(folder, 'temporal-sql-tool') };
  if (!existsSync(folder)) {
    const waiting = (pid) => log(`process ${pid} is building the Temporal server: waiting for it`);
    await withLock(`${folder}.lock`, () => build(folder, env, log), waiting);
  }
  return programs;
}

async function build(folder, env, log) {
  if (existsSync(folder)) return; // another process has built it while it held the lock
  mkdirSync(dirname(folder), { recursive: true });
  const scratch = mkdtempSync(`${folder}.work-`); // in the same folder as the target, because a rename in one file system is atomic
  try {
    const made = join(scratch, 'made');
    const reason = await goBuild({
      name: `the Temporal server ${VERSION}`,
      version: `v${VERSION}`,
      programs: {
        [`${MODULE}/cmd/server`]: join(made, 'temporal-server'),
        [`${MODULE}/cmd/tools/sql`]: join(made, 'temporal-sql-tool'),
      },
      scratch,
      env,
      log,
    });
    if (reason !== undefined) throw new Error(`no Temporal server: ${reason}`);
    renameSync(made, folder);
  } finally {
    rmSync(scratch, REMOVE);
  }
}

if (process.argv[1] && import.meta.url === new URL(`file://${process.argv[1]}`).href)
  console.log((await provideTemporalServer({ log: (line) => console.error(line) })).server);
