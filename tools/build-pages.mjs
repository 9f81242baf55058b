// Bundles the pages of the dashboard into dist/dashboard/web: a script, a style sheet and index.html. It is a part of
// `npm run build`; nothing is bundled or fetched at run time.
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { ROOT } from '../infra/root.mjs';

const from = join(ROOT, 'dashboard/web');
const to = join(ROOT, 'dist/dashboard/web');
mkdirSync(to, { recursive: true });
await build({
  entryPoints: [join(from, 'main.tsx')],
  outdir: to,
  bundle: true,
  minify: true,
  format: 'iife', // a report contains the script as a classic script
  target: 'es2022',
  legalComments: 'eof',
  logLevel: 'warning',
});
copyFileSync(join(from, 'index.html'), join(to, 'index.html'));
