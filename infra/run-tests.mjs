// `npm test` after set-up: lint, directions of dependency, types, all tests, coverage; a last line with the counts.
// Each test file runs in a mocha of its own, two at a time: a crash of one fails that file, not the run.
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { checkDependencies } from './check-deps.mjs';
import { COVERAGE_MINIMUM, keepOurs, lineCoverage } from './coverage.mjs';
import { ROOT } from './root.mjs';

const FILE_LIMIT_MS = 12 * 60_000; // of one test file; a hang is a failure that names itself
const LONG_FIRST = ['workflows', 'activities', 'cli', 'sandbox', 'infra', 'ml']; // so that no long file runs alone at the end
const LINGER_MS = 30_000; // between a file's last test and its process's end: longer is a leaked handle

const { values: flags, positionals } = parseArgs({
  options: {
    'coverage-html': { type: 'boolean' },
    jobs: { type: 'string' },
    tests: { type: 'string', default: join(ROOT, 'dist', 'test') },
    out: { type: 'string', default: join(ROOT, 'coverage') },
  },
  allowPositionals: true, // parts of paths: only matching test files, without the gates
});
const started = Date.now();
const totals = { passed: 0, failed: 0, skipped: 0 };
const problems = [];
const skippedTitles = [];
const groups = new Set();
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    for (const pid of groups) killGroup(pid);
    process.exit(1);
  });
}

const coverageDir = join(flags.out, 'v8');
const outcomeDir = join(flags.out, 'outcomes');
for (const folder of [coverageDir, outcomeDir]) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
}

const whole = positionals.length === 0;
if (whole) {
  await gate(
    'lint',
    async () => (await run(['node_modules/@biomejs/biome/bin/biome', 'check', '--colors=off', '.'])).problems,
  );
  await gate(
    'types',
    async () => (await run(['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json', '--noEmit'])).problems,
  );
  await gate('directions of dependency', async () => {
    const { modules, problems } = await checkDependencies();
    console.log(`  ${modules} modules`);
    return problems;
  });
}

const files = testFiles(flags.tests).filter((file) => whole || positionals.some((part) => file.includes(part)));
if (files.length === 0) await gate('tests', async () => ['no test files found']);
await runAll(files, Number(flags.jobs ?? Math.min(2, availableParallelism())));

if (whole) {
  await gate(`line coverage of at least ${COVERAGE_MINIMUM} %`, async () => {
    const { percent, table, covered, lines } = await lineCoverage(
      coverageDir,
      flags.out,
      flags['coverage-html'] === true,
    );
    console.log(table);
    console.log(`  ${percent.toFixed(2)} % (${covered} of ${lines} lines)`);
    return percent >= COVERAGE_MINIMUM ? [] : [`${percent.toFixed(2)} % of lines are covered`];
  });
}

for (const title of skippedTitles) console.log(`skipped: ${title}`);
for (const problem of problems) console.log(`FAILED: ${problem}`);
console.log(`${Math.round((Date.now() - started) / 1000)} s`);
console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exitCode = totals.failed === 0 ? 0 : 1;

/** A check that counts as one test. */
async function gate(name, check) {
  console.log(`\n${name}`);
  let found;
  try {
    found = await check();
  } catch (error) {
    found = [error.message];
  }
  for (const line of found) console.log(`  ${line}`);
  if (found.length === 0) totals.passed++;
  else {
    totals.failed++;
    problems.push(name);
  }
}

async function runAll(files, jobs) {
  const queue = [...files];
  let done = 0;
  const worker = async () => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      const { output, outcome, failure, seconds } = await runFile(file);
      done++;
      totals.passed += outcome.passed;
      totals.failed += outcome.failed;
      totals.skipped += outcome.skipped;
      skippedTitles.push(...outcome.skippedTitles);
      problems.push(...outcome.failures.map((title) => `${file}: ${title}`));
      if (failure !== undefined) {
        totals.failed++;
        problems.push(`${file}: ${failure}`);
      }
      console.log(`\n[${done}/${files.length}] ${file} (${seconds.toFixed(1)} s)`);
      console.log(output.replace(/^\n+|\n+$/g, ''));
    }
  };
  await Promise.all(Array.from({ length: jobs }, worker));
}

async function runFile(file) {
  const began = Date.now();
  const id = file.replaceAll('/', '-');
  const outcomeFile = join(outcomeDir, `${id}.json`);
  const coverage = join(flags.out, 'raw', id);
  const env = { ...process.env, GAUNTLET_TEST_OUTCOME: outcomeFile, NODE_V8_COVERAGE: coverage };
  const args = ['node_modules/mocha/bin/mocha.js', '--no-color', '--reporter', 'infra/mocha-reporter.cjs', file];
  const read = () => {
    try {
      return JSON.parse(readFileSync(outcomeFile, 'utf8'));
    } catch {
      return { ended: false, passed: 0, failed: 0, failures: [], skipped: 0, skippedTitles: [] };
    }
  };
  const { code, output, killed } = await run(args, { env, limitMs: FILE_LIMIT_MS, ended: () => read().ended });
  const outcome = read();
  let failure;
  if (killed === 'limit') failure = `stopped after ${FILE_LIMIT_MS / 60_000} minutes`;
  else if (killed === 'linger')
    failure = `its process did not end within ${LINGER_MS / 1000} s of its last test: something is left open`;
  else if (!outcome.ended) failure = `ended early (exit ${code})`;
  else if (code !== 0 && outcome.failed === 0) failure = `exit ${code}`;
  keepOurs(coverage, coverageDir);
  return { output, outcome, failure, seconds: (Date.now() - began) / 1000 };
}

/** Each test file is a process group of its own: its servers and sandboxes end with it. */
function killGroup(pid) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // all of it has ended
  }
}

/** Runs a Node program; a non-zero exit makes its output lines problems. */
function run(args, { env = process.env, limitMs = Number.POSITIVE_INFINITY, ended = () => false } = {}) {
  return new Promise((settle) => {
    const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    groups.add(child.pid);
    let output = '';
    const keep = (chunk) => {
      output += chunk;
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    const began = Date.now();
    let killed;
    let endedAt;
    const watch = setInterval(() => {
      if (endedAt === undefined && ended()) endedAt = Date.now();
      if (Date.now() - began > limitMs) killed = 'limit';
      else if (endedAt !== undefined && Date.now() - endedAt > LINGER_MS) killed = 'linger';
      if (killed !== undefined) killGroup(child.pid);
    }, 1000);
    child.on('exit', () => killGroup(child.pid)); // what a test left behind would hold our pipes open
    child.on('close', (code) => {
      clearInterval(watch);
      groups.delete(child.pid);
      const lines = output.split('\n').filter((line) => line.trim() !== '');
      settle({ code, output, killed, problems: code === 0 ? [] : lines });
    });
  });
}

function testFiles(folder) {
  const rank = (name) => [...LONG_FIRST, name.split('/')[0]].indexOf(name.split('/')[0]);
  return readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith('.test.js'))
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
    .map((name) => relative(ROOT, join(folder, name)));
}
