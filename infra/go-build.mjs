// Builds programs from the Go module proxy, in a scratch folder.
// Uses only the standard library: set-up imports it before any package is installed.
import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const GO_MINIMUM = [1, 25]; // the go.mod of Temporal's programs requires it

/**
 * @param {{ name: string, version: string, programs: Record<string, string>, linkerFlags?: string, scratch: string,
 *   env: Record<string, string | undefined>, log: (line: string) => void }} request programs: package → file to write
 * @returns {Promise<string | undefined>} undefined on success, else why it failed
 */
export async function goBuild({ name, version, programs, linkerFlags = '', scratch, env, log }) {
  // in another folder, a go.mod may name another Go
  const { stdout } = spawnSync('go', ['version'], { env, cwd: scratch, encoding: 'utf8' });
  const match = /go(\d+)\.(\d+)/.exec(stdout ?? '');
  if (!match) return 'no Go to build it with';
  const [major, minor] = [Number(match[1]), Number(match[2])];
  if (major < GO_MINIMUM[0] || (major === GO_MINIMUM[0] && minor < GO_MINIMUM[1])) {
    return `Go ${major}.${minor} is too old to build it (${GO_MINIMUM.join('.')}+)`;
  }
  log(`building ${name} with Go ${major}.${minor}: two to six minutes and 3 GB, once`);
  // the caches take 3 GB and nothing else uses them, so they are removed with `scratch`
  const caches = {
    GOCACHE: join(scratch, 'cache'),
    GOMODCACHE: join(scratch, 'modules'),
    GOFLAGS: `${env.GOFLAGS ?? ''} -modcacherw`,
  };
  const began = Date.now();
  const progress = setInterval(() => log(`  building: ${Math.round((Date.now() - began) / 1000)} s`), 30_000);
  const link = ['-trimpath', '-ldflags', `-s -w ${linkerFlags}`];
  try {
    for (const step of [
      ['mod', 'init', 'gauntlet.local/programs'],
      ['get', '-tool', ...Object.keys(programs).map((program) => `${program}@${version}`)],
      ...Object.entries(programs).map(([program, file]) => ['build', ...link, '-o', file, program]),
    ]) {
      const failure = await run('go', step, { env: { CGO_ENABLED: '0', ...env, ...caches }, cwd: scratch });
      if (failure !== undefined) return `\`go ${step.slice(0, 2).join(' ')}\` failed (${failure})`;
    }
    return undefined;
  } finally {
    clearInterval(progress);
  }
}

/** @returns {Promise<string | undefined>} undefined on success, else the line of the output that says what failed */
export async function run(command, args, options) {
  try {
    await promisify(execFile)(command, args, { ...options, maxBuffer: 2 ** 26, killSignal: 'SIGKILL' });
    return undefined;
  } catch ({ message, stdout, stderr }) {
    const lines = `${stdout ?? ''}\n${stderr || message}`.trim().split('\n');
    const line =
      lines.filter((text) => /error|fail|cannot|could not|lookup|no such/i.test(text)).at(-1) ?? lines.at(-1);
    return (/dns error: (.*)$/.exec(line)?.[1] ?? line).trim().slice(-160);
  }
}
