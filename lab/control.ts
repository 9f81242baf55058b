// Writes data/tiny-control.json: a finished run without a discriminator, which reports show for comparison.
// node dist/lab/control.js STORE RUN_ID 'the command that made it'
import { writeFile } from 'node:fs/promises';
import { openStore } from '../store/openStore.js';
import { controlOf, controlPath } from '../workers/report.js';

const [place, runId, command] = process.argv.slice(2);
if (place === undefined || runId === undefined || command === undefined) {
  console.error("usage: node dist/lab/control.js STORE RUN_ID 'the command that made it'");
  process.exit(2);
}
const control = await controlOf(await openStore(place), runId, command);
await writeFile(controlPath(), `${JSON.stringify(control, null, 1)}\n`);
console.log(`${controlPath()}: ${control.points.length} points, ${control.digest}`);
