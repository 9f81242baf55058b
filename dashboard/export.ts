// Writes the pages of one run as files that open without a server: the same pages and resources, each resource in a script
// file, because a page that was opened from a file may load scripts but no JSON.
import type { RunList, RunView, StepView } from './api.js';
import type { Resources } from './data/resources.js';
import { unlessRemoved } from './data/rollouts.js';
import { pageFiles } from './server.js';
import { scriptPath } from './web/scriptPath.js';

/** Relative paths and contents, in the order in which they are read. */
export async function* reportFiles(resources: Resources, run: string): AsyncGenerator<[string, string | Buffer]> {
  const files = await pageFiles();
  for (const [name, content] of files)
    yield [name, name === 'index.html' ? indexPage(content.toString(), run) : content];
  const { runs } = (await resources.read('runs')) as RunList;
  yield script('runs', { runs: runs.filter(({ id }) => id === run) });
  const path = `runs/${encodeURIComponent(run)}`;
  const view = (await resources.read(path)) as RunView;
  yield script(path, view);
  yield script(`${path}/problems`, await resources.read(`${path}/problems`));
  const archive = await unlessRemoved(() => resources.read(`${path}/archive`));
  if (archive !== undefined) yield script(`${path}/archive`, archive);
  for (const { step } of view.steps) {
    const ofStep = `${path}/steps/${step}`;
    const rollouts = (await unlessRemoved(() => resources.read(ofStep))) as StepView | undefined;
    if (rollouts === undefined) continue; // its page says so
    yield script(ofStep, rollouts);
    for (const { index } of rollouts.groups) {
      const ofGroup = `${ofStep}/groups/${index}`;
      for (const path of [ofGroup, `${ofGroup}/tokens`]) yield script(path, await resources.read(path));
    }
  }
}

const script = (path: string, data: unknown): [string, string] => [
  scriptPath(path),
  `gauntletData(${JSON.stringify(path)}, ${JSON.stringify(data)});\n`,
];

const POLICY = "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src data:; base-uri 'none'";

/** The id of a run has no character that HTML would have to escape. */
const indexPage = (page: string, run: string): string =>
  page.replace(
    '<meta name="viewport"',
    `<meta http-equiv="content-security-policy" content="${POLICY}">\n<meta name="gauntlet-run" content="${run}">\n$&`,
  );
