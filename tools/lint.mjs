// `npm run lint`: checks TypeScript and JavaScript with Biome, Python with ruff, and the subjects of commits. Ruff runs as
// WebAssembly, so that no Python is needed.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PositionEncoding, Workspace } from '@astral-sh/ruff-wasm-nodejs';
import { ROOT } from '../infra/root.mjs';
import { sourceFolders } from './build-stamp.mjs';
import { lintSubjects } from './commits.mjs';

const RULES = { select: ['E4', 'E7', 'E9', 'F', 'W', 'B'], ignore: ['E731', 'B023', 'B905'] };
// The host joins the files of these folders into one program, so names may come from other files.
const GUEST_RULES = { ...RULES, ignore: [...RULES.ignore, 'F401', 'F821'] };

/** @returns {string[]} one line per problem */
export function lint(root = ROOT) {
  const biome = join(ROOT, 'node_modules/@biomejs/biome/bin/biome');
  const { status, stdout, stderr } = spawnSync(process.execPath, [biome, 'check', '--colors=off', '.'], {
    cwd: root,
    encoding: 'utf8',
  });
  const lines = status === 0 ? [] : `${stdout}${stderr}`.split('\n').filter((line) => line.trim() !== '');
  return [...lines, ...lintPython(root), ...lintSubjects(root)];
}

function lintPython(root) {
  const workspace = (rules) => new Workspace({ 'line-length': 120, lint: rules }, PositionEncoding.Utf16);
  const [all, guest] = [workspace(RULES), workspace(GUEST_RULES)];
  return sourceFolders(root).flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .filter((name) => name.endsWith('.py'))
      .flatMap((name) => {
        const file = join(root, folder, name);
        const rules = /sandbox\/(guest|search|testSource)\//.test(file) ? guest : all;
        return rules
          .check(readFileSync(file, 'utf8'))
          .map(({ code, message, start_location: at }) => `${relative(root, file)}:${at.row} ${code} ${message}`);
      }),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const problems = lint();
  for (const line of problems) console.error(line);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
