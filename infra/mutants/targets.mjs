// What the mutation check replaces, found in the built code itself, so that a new activity, reward, gradient rule or
// parser is a target from the day it is written.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * @typedef {'activity' | 'composite' | 'reward' | 'gradient' | 'parser' | 'function'} Kind
 * @typedef {{ kind: Kind, module: string, path: string[] }} Target module: path below dist; path: export, then keys
 */

/**
 * @param {string} dist
 * @param {string[]} [places] folders and modules below dist, e.g. store or core/control.js: each exported function and
 *   each method of an exported class there, instead of what is found without being named
 * @returns {Promise<Target[]>}
 */
export async function findTargets(dist, places) {
  if (places !== undefined) return (await Promise.all(places.map((place) => namedPlace(dist, place)))).flat();
  const found = [
    ...(await activities(dist)),
    ...(await functionsIn(dist, 'core/rewards', 'reward', { exported: true, tables: true })),
    ...(await functionsIn(dist, 'ml/autodiff', 'gradient', { exported: false, tables: true })),
    ...(await functionsIn(dist, 'core/parse', 'parser', { exported: true, tables: true })),
  ];
  return found;
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

async function namedPlace(dist, place) {
  if (!existsSync(join(dist, place))) throw new Error(`there is no dist/${place}`);
  return functionsIn(dist, place, 'function', { exported: true, tables: true, methods: true });
}

async function functionsIn(dist, place, kind, { exported, tables, methods }) {
  const found = [];
  for (const module of modulesOf(dist, place)) {
    const text = readFileSync(join(dist, module), 'utf8');
    for (const [key, value] of Object.entries(await load(dist, module))) {
      const declared = new RegExp(`\\b(function\\*?|const|class) ${key.replaceAll('$', '\\$')}\\b`);
      if (!declared.test(text)) continue; // another module's, and a target there
      if (typeof value === 'function' && exported && !isClass(value)) found.push({ kind, module, path: [key] });
      if (tables && isTable(value))
        for (const path of functionsOf(value)) found.push({ kind, module, path: [key, ...path] });
      if (methods && isClass(value))
        for (const path of methodsOf(value)) found.push({ kind, module, path: [key, ...path] });
    }
  }
  if (found.length === 0) throw new Error(`no ${kind} found in ${place}`);
  return found;
}

const modulesOf = (dist, place) => {
  if (place.endsWith('.js')) return [place];
  const names = readdirSync(join(dist, place)).filter((name) => name.endsWith('.js'));
  const exporting = (module) => /^export (?!{})/m.test(readFileSync(join(dist, module), 'utf8')); // else a program
  return names
    .sort()
    .map((name) => `${place}/${name}`)
    .filter(exporting);
};

const isTable = (value) =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
const isClass = (value) => typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value));

const methodsOf = ({ prototype }) =>
  Object.entries(Object.getOwnPropertyDescriptors(prototype))
    .filter(([key, { value }]) => key !== 'constructor' && typeof value === 'function')
    .map(([key]) => ['prototype', key]);

function functionsOf(table) {
  return Object.entries(table).flatMap(([key, value]) => {
    if (typeof value === 'function') return [[key]];
    return isTable(value) ? functionsOf(value).map((path) => [key, ...path]) : [];
  });
}

const load = (dist, module) => import(pathToFileURL(join(dist, module)).href);
