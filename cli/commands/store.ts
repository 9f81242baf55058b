// `gauntlet store`: verifies every byte of a store, or frees the space of what nothing needs.
import type { Command } from 'commander';
import { openStore } from '../../store/openStore.js';
import { type Finding, type Verified, verifyStore } from '../../store/verify.js';
import { EXIT } from '../exitCodes.js';
import { chooseRun } from '../naming.js';
import { jsonOption } from '../options.js';
import { createOutput, megabytes } from '../output.js';
import { withStore } from '../session.js';
import { addGc } from './gc.js';

export function addStore(program: Command): void {
  const group = program.command('store').description('verify the store, or free space in it');
  const verify = group
    .command('verify')
    .description('read every byte of the store and compare every digest; exit code 1 if anything is damaged or missing')
    .argument('[run]', 'only this run and the artifacts that it names')
    .addOption(jsonOption());
  withStore(verify, 'reads').action(async (named: string | undefined, flags: { store: string; json?: boolean }) => {
    const store = await openStore(flags.store);
    const verified = await verifyStore(store, named === undefined ? undefined : await chooseRun(store, named));
    createOutput(flags.json).result(verified, () => verifiedText(verified));
    if (!verified.ok) process.exitCode = EXIT.failed;
  });
  addGc(group);
}

/** The findings with what to do about each, then what was checked. */
export function verifiedText({ ok, findings, checked, notes }: Verified): string {
  const finding = ({ name, problem, help }: Finding): string => `✗ ${name}: ${problem}\n    ${help}`;
  const { runs, checkpoints, records, memos, blobs, bytes } = checked;
  const total = `${runs} ${runs === 1 ? 'run' : 'runs'}, ${checkpoints} checkpoints and pointers, ${records} records, ${memos} memo rows, ${blobs} artifacts (${megabytes(bytes)})`;
  return [
    ...findings.map(finding),
    ...notes.map((note) => `- ${note}`),
    ok ? `✓ whole: ${total}` : `${findings.length} damaged or missing among ${total}`,
  ].join('\n');
}
