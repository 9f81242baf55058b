// Ranks the test files that can detect a change of a function: those that import its module, nearest to a use first.
// Tests in the folder or with the name of the module come before others.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';

const UNNAMED = 3; // import steps added for a test whose imports do not name the function

/** @returns {(target: import('./targets.mjs').Target) => string[]} test files, as paths below dist */
export function relevance(dist) {
  const tests = readdirSync(join(dist, 'test'), { recursive: true })
    .filter((name) => name.endsWith('.test.js'))
    .map((name) => `test/${name}`)
    .sort();
  const modules = new Map();
  const read = (module) => {
    if (!modules.has(module)) modules.set(module, readModule(dist, module));
    return modules.get(module);
  };
  const distances = new Map(tests.map((test) => [test, distancesFrom(test, (module) => read(module).imports)]));
  return ({ module, path }) => {
    const names = new RegExp(`\\b${path.at(-1).replaceAll('$', '\\$')}\\b`);
    const users = [...modules.keys()].filter((user) => user !== module && names.test(read(user).text));
    return tests
      .filter((test) => distances.get(test).has(module))
      .map((test) => {
        const to = distances.get(test);
        const toUse = users.filter((user) => to.has(user)).map((user) => to.get(user) + 1);
        const [, folder] = test.split('/');
        const beside = module.startsWith(`${folder}/`) ? 2 : 0;
        const namesake = beside && basename(test, '.test.js') === basename(module, '.js') ? 2 : 0;
        return { test, rank: Math.min(to.get(module) + UNNAMED, ...toUse) - beside - namesake };
      })
      .sort((a, b) => a.rank - b.rank || (a.test < b.test ? -1 : 1))
      .map(({ test }) => test);
  };
}

function distancesFrom(test, importsOf) {
  const distance = new Map([[test, 0]]);
  for (const module of distance.keys()) {
    for (const next of importsOf(module)) if (!distance.has(next)) distance.set(next, distance.get(module) + 1);
  }
  return distance;
}

function readModule(dist, module) {
  const file = join(dist, module);
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return { text: '', imports: [] }; // not an import, only similar text
  const text = readFileSync(file, 'utf8');
  const below = (path) => relative(dist, join(dirname(file), path));
  const imported = [...text.matchAll(/(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g)].map(([, path]) => below(path));
  // A module that starts a thread, a process or the workflow bundle counts as importing it.
  const started = [...text.matchAll(/new URL\('(\.[^']+\.js)', import\.meta\.url\)/g)].map(([, path]) => below(path));
  const bundled = [...text.matchAll(/join\(DIST, ((?:'[^']+'(?:, )?)+)\)/g)].map(([, parts]) =>
    join(...parts.split(', ').map((part) => part.slice(1, -1))),
  );
  const command = text.includes('bin/gauntlet.mjs') ? ['cli/main.js'] : [];
  return { text, imports: [...imported, ...started, ...bundled, ...command] };
}
