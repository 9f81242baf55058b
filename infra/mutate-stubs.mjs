// `npm run mutate-stubs`: replaces each activity, reward, gradient rule and parser by a stub in a copy of dist/, one at a
// time. At least one test must fail. A stub that survives replaces a function that no test checks.
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { relevance } from './mutants/relevance.mjs';
import { withStub } from './mutants/stub.mjs';
import { findTargets } from './mutants/targets.mjs';
import { ROOT } from './root.mjs';

const MAX_TEST_FILES = 10; // those nearest to the function
const LIMIT_MS = 300_000; // for an unchanged test file
const EXTRA_MS = 20_000; // for a test file with a stub, which may loop

/**
 * @param {{ root?: string, jobs?: number, only?: string, log?: (line: string) => void }} [options]
 * @returns {Promise<{ target: string, killedBy?: string, why?: string }[]>} killedBy undefined: the stub survived
 */
export async function mutateStubs({
  root = ROOT,
  jobs = Math.min(2, availableParallelism()),
  only,
  log = () => {},
} = {}) {
  const dist = join(root, 'dist');
  const testsFor = relevance(dist);
  const targets = (await findTargets(dist)).filter((target) => only === undefined || nameOf(target).includes(only));
  const baselines = new Map(); // test file → promise of its outcome without a stub
  const tookMs = new Map(); // test file → its time without a stub
  const results = new Array(targets.length);
  let next = 0;
  const worker = async () => {
    const copy = copyOf(root);
    try {
      while (next < targets.length) {
        const index = next++;
        results[index] = await check(copy, targets[index], testsFor(targets[index]), { baselines, tookMs });
        const { target, killedBy, why } = results[index];
        log(`${killedBy === undefined ? 'SURVIVED' : 'killed  '} ${target.padEnd(64)} ${killedBy ?? why}`);
      }
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  };
  await Promise.all(Array.from({ length: Math.min(jobs, targets.length) }, worker));
  return results;
}

export const nameOf = ({ kind, module, path }) => `${kind} ${module.replace(/\.js$/, '')}:${path.join('.')}`;

/** A copy of dist/ and bin/, with links to the rest of the checkout, so that paths and packages resolve. */
function copyOf(root) {
  const copy = mkdtempSync(join(tmpdir(), 'gauntlet-stubs-'));
  for (const name of readdirSync(root)) {
    if (name === 'dist' || name === 'bin') cpSync(join(root, name), join(copy, name), { recursive: true });
    else if (!['.git', '.gauntlet', 'coverage'].includes(name)) symlinkSync(join(root, name), join(copy, name));
  }
  return copy;
}

async function check(copy, target, tests, { baselines, tookMs }) {
  const file = join(copy, 'dist', target.module);
  const original = readFileSync(file, 'utf8');
  const name = nameOf(target);
  const took = (test) => tookMs.get(test) ?? 0;
  const candidates = tests.slice(0, MAX_TEST_FILES).sort((a, b) => took(a) - took(b)); // quick ones first
  if (candidates.length === 0) return { target: name, why: 'no test imports it' };
  const stubbed = withStub(original, target);
  const useless = [];
  try {
    writeFileSync(file, stubbed);
    const loads = await run(['-e', `await import(${JSON.stringify(file)})`, '--input-type=module'], copy, LIMIT_MS);
    if (loads.code !== 0) throw new Error(`the stub of ${name} does not load: ${loads.output.slice(-500)}`);
    for (const test of candidates) {
      writeFileSync(file, original);
      if (!baselines.has(test)) baselines.set(test, mocha(test, copy, LIMIT_MS));
      const baseline = await baselines.get(test);
      tookMs.set(test, baseline.ms);
      if (baseline.code !== 0) {
        useless.push(test); // it fails without a stub
        continue;
      }
      writeFileSync(file, stubbed);
      const { code, output } = await mocha(test, copy, 2 * baseline.ms + EXTRA_MS);
      if (code !== 0) return { target: name, killedBy: `${test.replace(/\.js$/, '')}: ${firstFailure(output)}` };
    }
    const passing = candidates.filter((test) => !useless.includes(test));
    const unchanged = useless.length === 0 ? '' : `; ${useless.join(', ')} fail without any change`;
    return { target: name, why: `pass: ${passing.join(', ') || 'none'}${unchanged}` };
  } finally {
    writeFileSync(file, original);
  }
}

const mocha = (test, copy, limitMs) => {
  const args = ['node_modules/mocha/bin/mocha.js', '--bail', '--exit', '--reporter', 'dot', join('dist', test)];
  return run(args, copy, limitMs);
};

function run(args, cwd, limitMs) {
  const env = { ...process.env };
  delete env.NODE_V8_COVERAGE;
  return new Promise((settle) => {
    const began = Date.now();
    const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const keep = (chunk) => {
      output += chunk;
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    const timer = setTimeout(() => child.kill('SIGKILL'), limitMs);
    child.on('close', (code) => {
      clearTimeout(timer);
      settle({ code: code ?? -1, output, ms: Date.now() - began });
    });
  });
}

/** The title of the first failed test. */
function firstFailure(output) {
  const start = output.search(/\n {2}1\) /);
  if (start < 0) return 'the process failed or ran out of time';
  const lines = output.slice(start + 1).split('\n');
  const end = lines.findIndex((line) => line.trimEnd().endsWith(':'));
  return lines
    .slice(0, end + 1)
    .map((line) => line.trim())
    .join(' ')
    .replace(/^1\) /, '')
    .replace(/:$/, '');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      root: { type: 'string' },
      only: { type: 'string' },
      jobs: { type: 'string' },
    },
  });
  const results = await mutateStubs({
    ...(values.root ? { root: resolve(values.root) } : {}),
    ...(values.jobs ? { jobs: Number(values.jobs) } : {}),
    only: values.only,
    log: (line) => console.log(line),
  });
  const survivors = results.filter(({ killedBy }) => killedBy === undefined);
  for (const { target, why } of survivors) console.log(`no test fails with a stub of ${target} (${why})`);
  console.log(`${results.length} stubs, ${results.length - survivors.length} killed, ${survivors.length} survived`);
  process.exitCode = survivors.length === 0 && results.length > 0 ? 0 : 1;
}
