// `npm test` after set-up: runs lint, dependency rules, sizes of folders, and the tests of a lane. The last line has the counts.
// `--coverage` also measures coverage, which doubles the time.
// Mocha runs every slow test file in its own process, and the other files of a folder in one: a crash or a hang fails one
// file or folder, not the run.
import { fork, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from '../infra/root.mjs';
import { findTemporalCli } from '../infra/temporal-cli.mjs';
import { buildIsFresh } from './build-stamp.mjs';
import { coverageReport, keepOurs } from './coverage.mjs';
import { BARE, isIn, LANES, mayUseHidden, testFiles } from './test-files.mjs';

const FILE_LIMIT_MS = 30 * 60_000; // mocha ends a test sooner, unless it never yields
const BUILT = join(ROOT, 'dist', 'test');
const ALONE_FROM_S = 10; // in seconds, by tools/slow-tests.json; faster files share a process
const EXIT_LIMIT_MS = 30_000; // the longest time from a process's last test to its end; a longer time means that a handle was left open

const { values: flags, positionals } = parseArgs({
  options: {
    coverage: { type: 'boolean', default: false },
    lane: { type: 'string', multiple: true, default: ['fast'] }, // names in LANES
    jobs: { type: 'string' },
    tests: { type: 'string', default: BUILT },
    out: { type: 'string', default: join(ROOT, 'coverage') },
    'file-limit': { type: 'string', default: String(FILE_LIMIT_MS) },
  },
  allowPositionals: true, // parts of paths: runs only the matching test files, without lint, rules and coverage
});
const started = Date.now();
const count = { passed: 0, failed: 0, skipped: 0 };
const failures = [];
const skipped = [];
const groups = new Set(); // the process groups that are running
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    for (const pid of groups) killGroup(pid);
    process.exit(1);
  });
}

const coverageFolder = join(flags.out, 'v8');
rmSync(coverageFolder, { recursive: true, force: true });
mkdirSync(coverageFolder, { recursive: true });

const whole = positionals.length === 0;
const hasFast = whole && flags.lane.includes('fast');
const measuresCoverage = hasFast && flags.coverage;
for (const lane of flags.lane) if (!LANES.includes(lane)) fail(`no lane '${lane}': choose ${LANES.join(', ')}`);
const files = testFiles(flags.tests, positionals, flags.lane);
const bare = flags.lane.includes('bare')
  ? testFiles(flags.tests, [], ['fast']).filter((file) => mayUseHidden(file))
  : [];
const tasks = [
  ...inProcesses(files).map((group) => () => runTests(group)),
  ...inProcesses(bare).map((group) => () => runTests(group, BARE)),
];
if (whole && tasks.length === 0) fail('no test files found');
for (const part of positionals)
  if (!files.some((file) => isIn(flags.tests, file, part))) fail(`no test file for '${part}'`);
if (flags.tests === BUILT && !buildIsFresh(ROOT)) fail('dist/ was not built from these sources: npm run build');
if (hasFast)
  tasks.unshift(
    () => check('lint', 'tools/lint.mjs'),
    () => check('dependency rules', 'tools/check-deps.mjs'),
    () => check('sizes of folders', 'tools/sizes.mjs'),
  );

// Runs two processes more than there are cores, because some tests mostly wait.
const jobs = Number(flags.jobs ?? Math.max(2, availableParallelism()) + 2);
const server = await shareTemporal();
let done = 0;
const total = tasks.length + (measuresCoverage ? 1 : 0);
await Promise.all(
  Array.from({ length: jobs }, async () => {
    for (let task = tasks.shift(); task !== undefined; task = tasks.shift()) await task();
  }),
);
await server?.close();
if (measuresCoverage) {
  await check('coverage', ...coverageReport(coverageFolder, flags.out));
}

for (const title of skipped) console.log(`skipped: ${title}`);
for (const failure of failures) console.log(`FAILED: ${failure}`);
console.log(`${Math.round((Date.now() - started) / 1000)} s`);
console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`);
process.exitCode = count.failed === 0 ? 0 : 1;

function fail(text) {
  count.failed++;
  failures.push(text);
}

/** Runs the longest work first, so that it does not run alone at the end. */
function inProcesses(files) {
  const seconds = JSON.parse(readFileSync(join(ROOT, 'tools/slow-tests.json'), 'utf8'));
  const groups = new Map();
  for (const file of files) {
    const time = seconds[relative(flags.tests, file).replace(/\.test\.js$/, '')] ?? 1;
    const key = time < ALONE_FROM_S ? dirname(file) : file;
    const group = groups.get(key) ?? { files: [], time: 0 };
    groups.set(key, { files: [...group.files, file], time: group.time + time });
  }
  return [...groups.values()].sort((a, b) => b.time - a.time).map((group) => group.files);
}

/** Starts the server for tests that do not need their own (test/workflows/server.ts). Without a CLI, these tests skip. */
async function shareTemporal() {
  if (![...files, ...bare].some((file) => /\/(workflows|cli|lab)\//.test(file)) || findTemporalCli() === undefined)
    return undefined;
  const { ensureServer } = await import(join(ROOT, 'dist/infra/temporalServer.js'));
  const storeDir = mkdtempSync(join(tmpdir(), 'gauntlet-tests-'));
  const env = { ...process.env, TEMPORAL_ADDRESS: undefined };
  const server = await ensureServer({ storeDir, port: 0, uiPort: 0, env });
  process.env.GAUNTLET_TEST_TEMPORAL = server.address;
  return {
    close: async () => {
      await server.close();
      rmSync(storeDir, { recursive: true, force: true });
    },
  };
}

/** Runs a program whose failure counts as one failed test. */
async function check(name, ...program) {
  const { code, output } = await run(spawn(process.execPath, program, options()));
  report(name, output);
  if (code === 0) count.passed++;
  else fail(name);
}

async function runTests(files, hiding) {
  const began = Date.now();
  const place = hiding ? 'without Docker and Chromium: ' : '';
  const raw = join(flags.out, 'raw', relative(ROOT, files[0]).replaceAll('/', '-'));
  const args = ['--no-color', '--reporter', 'tools/mocha-reporter.cjs', ...files];
  const child = fork(
    'node_modules/mocha/bin/mocha.js',
    args,
    options(hiding ?? (measuresCoverage ? { NODE_V8_COVERAGE: raw } : {}), 'ipc'),
  );
  let file = place + relative(ROOT, files[0]);
  let ended = false;
  let failed = 0;
  let killed;
  const limit = (ms, reason) =>
    setTimeout(() => {
      killed = reason;
      killGroup(child.pid);
    }, ms);
  const tooLong = () => limit(Number(flags['file-limit']), `killed after ${flags['file-limit'] / 1000} s`);
  let timer = tooLong();
  child.on('message', (event) => {
    if (event.type === 'passed') count.passed++;
    if (event.type === 'skipped') {
      count.skipped++;
      skipped.push(place + event.text);
    }
    if (event.type === 'failed') {
      failed++;
      fail(`${file}: ${event.text}`);
    }
    if (event.type === 'end') ended = true;
    if (event.type === 'file') file = place + relative(ROOT, event.file);
    if (event.type !== 'file' && event.type !== 'end') return;
    clearTimeout(timer);
    timer = ended ? limit(EXIT_LIMIT_MS, 'its process did not exit: a handle is left open') : tooLong();
  });
  const { code, output } = await run(child);
  clearTimeout(timer);
  if (killed) fail(`${file}: ${killed}`);
  else if (!ended) fail(`${file}: ended early (exit ${code})`);
  else if (code !== 0 && failed === 0) fail(`${file}: exit ${code}`);
  if (measuresCoverage && !hiding) keepOurs(raw, coverageFolder);
  report(`${files.length === 1 ? file : dirname(file)} (${((Date.now() - began) / 1000).toFixed(1)} s)`, output);
}

function report(title, output) {
  console.log(`\n[${++done}/${total}] ${title}`);
  console.log(output.replace(/^\n+|\n+$/g, ''));
}

/** Starts a child as a process group, so that servers and sandboxes that a test left behind end with it. */
function options(env = {}, ...channel) {
  const stdio = ['ignore', 'pipe', 'pipe', ...channel];
  return { cwd: ROOT, env: { ...process.env, ...env }, stdio, detached: true };
}

function run(child) {
  groups.add(child.pid);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk;
    });
  }
  child.on('exit', () => killGroup(child.pid)); // a process that a test left behind would keep the pipes open
  return new Promise((settle) => {
    child.on('close', (code) => {
      groups.delete(child.pid);
      settle({ code, output });
    });
  });
}

function killGroup(pid) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // all processes of the group have ended
  }
}
