// Which test files can notice a change of a module: those that import it, the nearest first.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** @returns {(target: import('./targets.mjs').Target) => string[]} test files, as paths below dist */
export function relevance(dist) {
  const tests = readdirSync(join(dist, 'test'), { recursive: true })
    .filter((name) => name.endsWith('.test.js'))
    .map((name) => `test/${name}`)
    .sort();
  const imports = new Map();
  const importsOf = (module) => {
    if (!imports.has(module)) imports.set(module, readImports(dist, module));
    return imports.get(module);
  };
  const distances = new Map(tests.map((test) => [test, distancesFrom(test, importsOf)]));
  return ({ module, path }) =>
    tests
      .filter((test) => distances.get(test).has(module))
      .map((test) => {
        const named = readFileSync(join(dist, test), 'utf8').includes(path.at(-1));
        return { test, rank: distances.get(test).get(module) - (named ? 0.5 : 0) };
      })
      .sort((a, b) => a.rank - b.rank || (a.test < b.test ? -1 : 1))
      .map(({ test }) => test);
}

function distancesFrom(test, importsOf) {
  const distance = new Map([[test, 0]]);
  for (const module of distance.keys()) {
    for (const next of importsOf(module)) if (!distance.has(next)) distance.set(next, distance.get(module) + 1);
  }
  return distance;
}

function readImports(dist, module) {
  const file = join(dist, module);
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return []; // a text may look like an import
  const text = readFileSync(file, 'utf8');
  const specifiers = [...text.matchAll(/(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g)].map(
    ([, specifier]) => specifier,
  );
  return specifiers.map((specifier) => relative(dist, join(dirname(file), specifier)));
}
