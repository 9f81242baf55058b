// Finds what the mutation check replaces in the built code: every activity, reward, gradient rule and parser.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * @typedef {'activity' | 'composite' | 'reward' | 'gradient' | 'parser'} Kind
 * @typedef {{ kind: Kind, module: string, path: string[] }} Target module: path below dist; path: export, then keys
 */

/**
 * @param {string} dist
 * @returns {Promise<Target[]>}
 */
export async function findTargets(dist) {
  return [
    ...(await activities(dist)),
    ...(await functionsIn(dist, 'core/rewards', 'reward')),
    ...(await functionsIn(dist, 'ml/autodiff', 'gradient', false)),
    ...(await functionsIn(dist, 'core/parse', 'parser')),
  ];
}

/** Every leaf activity is the function of its name in the file of its name; composite activities share one file. */
async function activities(dist) {
  const folder = 'activities';
  const { createLeafActivities } = await load(dist, `${folder}/leafActivities.js`);
  const composites = `${folder}/compositeActivities.js`;
  const { compositeActivities } = existsSync(join(dist, composites)) ? await load(dist, composites) : {};
  const named = Object.keys(compositeActivities?.({}) ?? {});
  const leaves = await Promise.all(
    Object.keys(createLeafActivities({})).map(async (name) => {
      const module = `${folder}/${name}.js`;
      if (!existsSync(join(dist, module))) throw new Error(`activity ${name} has no file ${module}`);
      if (typeof (await load(dist, module))[name] !== 'function') throw new Error(`${module} does not export ${name}`);
      return { kind: 'activity', module, path: [name] };
    }),
  );
  return [
    ...leaves,
    ...named.map((name) => ({ kind: 'composite', module: composites, path: ['compositeActivities', name] })),
  ];
}

/** Exported functions, unless `exported` is false, and functions in exported tables. */
async function functionsIn(dist, folder, kind, exported = true) {
  const found = [];
  for (const module of modulesOf(dist, folder)) {
    const text = readFileSync(join(dist, module), 'utf8');
    for (const [key, value] of Object.entries(await load(dist, module))) {
      const declared = new RegExp(`\\b(function\\*?|const) ${key.replaceAll('$', '\\$')}\\b`);
      if (!declared.test(text)) continue; // a re-export: it is a target in its own module
      if (typeof value === 'function' && exported) found.push({ kind, module, path: [key] });
      if (isTable(value)) for (const path of functionsOf(value)) found.push({ kind, module, path: [key, ...path] });
    }
  }
  if (found.length === 0) throw new Error(`no ${kind} found in ${folder}`);
  return found;
}

const modulesOf = (dist, folder) =>
  readdirSync(join(dist, folder))
    .filter((name) => name.endsWith('.js'))
    .sort()
    .map((name) => `${folder}/${name}`);

const isTable = (value) =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

function functionsOf(table) {
  return Object.entries(table).flatMap(([key, value]) => {
    if (typeof value === 'function') return [[key]];
    return isTable(value) ? functionsOf(value).map((path) => [key, ...path]) : [];
  });
}

const load = (dist, module) => import(pathToFileURL(join(dist, module)).href);
