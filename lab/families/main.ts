// `npm run make:problems`: computes the problems of all families and writes them to data/, where the product reads them.
import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { shippedProblemsPath } from '../../data/paths.js';
import { linesOf, PROBLEMS } from './index.js';

for (const [name, load] of Object.entries(PROBLEMS)) {
  const file = shippedProblemsPath(name);
  const bytes = gzipSync(linesOf(load()), { level: 9 });
  writeFileSync(file, bytes);
  console.log(`${file}: ${bytes.length} bytes`);
}
