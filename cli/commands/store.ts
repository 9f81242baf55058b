// `gauntlet store`: verifies every byte of a store, copies it, or frees the space of what nothing needs.
import type { Command } from 'commander';
import { GauntletError } from '../../core/base/errors.js';
import { copyStore } from '../../store/copy.js';
import { openStore, storeExists } from '../../store/openStore.js';
import { type Finding, type Verified, verifyStore } from '../../store/verify.js';
import { chooseRun } from '../input/naming.js';
import { jsonOption } from '../input/options.js';
import { type StoreFlags, withStore } from '../run/session.js';
import { EXIT } from '../terminal/exitCodes.js';
import { counted, createOutput, sizeText } from '../terminal/output.js';
import { addGc } from './gc.js';

export function addStore(program: Command): void {
  const group = program.command('store').description('verify the store, copy it, or free space in it');
  const verify = group
    .command('verify')
    .description('read every byte of the store and compare every digest; exit code 1 if anything is damaged or missing')
    .argument('[run]', 'only this run and the artifacts that it names')
    .addOption(jsonOption());
  withStore(verify, 'reads').action(async (named: string | undefined, flags: StoreFlags) => {
    const store = await openStore(flags.store);
    const verified = await verifyStore(store, named === undefined ? undefined : await chooseRun(store, named));
    createOutput(flags.json).result(verified, () => verifiedText(verified));
    if (!verified.ok) process.exitCode = EXIT.failed;
  });
  addCopy(group);
  addGc(group);
}

function addCopy(group: Command): void {
  group
    .command('copy')
    .description(
      'copy to another store what is missing, damaged or older there, and verify both; a damaged store is not copied',
    )
    .argument('<from>', 'a folder or s3://BUCKET/PREFIX')
    .argument('<to>', 'another folder or bucket; it may hold runs already')
    .addOption(jsonOption())
    .action(async (source: string, target: string, { json }: { json?: boolean }) => {
      if (!(await storeExists(source))) throw new GauntletError('NOT_FOUND', `no store at ${source}`);
      const [from, to] = [await openStore(source), await openStore(target)];
      if (from.locate('') === to.locate(''))
        throw new GauntletError('BAD_INPUT', `both are the store ${from.locate('')}: name another one to copy to`);
      const { ok, findings } = await verifyStore(from);
      if (!ok) {
        const { name, problem } = findings[0]!;
        const more = findings.length > 1 ? `, and ${findings.length - 1} more` : '';
        const way = `see: npx gauntlet store verify --store ${source}`;
        throw new GauntletError('CORRUPT_ARTIFACT', `nothing was copied: ${name} ${problem}${more}; ${way}`);
      }
      const copied = await copyStore(from, to);
      const verified = await verifyStore(to);
      const { runs, files, bytes, present } = copied;
      const line = `copied ${counted(runs, 'run')}: ${counted(files, 'file')}, ${sizeText(bytes)}; ${present} were there`;
      createOutput(json).result({ ...copied, verified }, () => `${line}\n${verifiedText(verified)}`);
      if (!verified.ok) process.exitCode = EXIT.failed;
    });
}

/** Lists the findings with what to do about each, then what was checked. */
function verifiedText({ ok, findings, checked, notes }: Verified): string {
  const line = (text: string): string => text.replaceAll('\n', '\\n'); // names of files may have line breaks
  const finding = ({ name, problem, help }: Finding): string => `✗ ${line(`${name}: ${problem}`)}\n    ${line(help)}`;
  const { runs, checkpoints, records, memos, blobs, bytes } = checked;
  const total = `${counted(runs, 'run')}, ${checkpoints} checkpoints and pointers, ${records} records, ${memos} memo rows, ${blobs} artifacts (${sizeText(bytes)})`;
  const lines = [
    ...findings.map(finding),
    ...notes.map((note) => `- ${line(note)}`),
    ok ? `✓ whole: ${total}` : `${findings.length} damaged or missing among ${total}`,
  ];
  return lines.join('\n');
}
