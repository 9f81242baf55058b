// Where a process id means something: in one pid namespace of one boot of one machine. A host name does not say that: two
// containers, or two machines that share a folder, can have the same one.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** An id of this machine until it restarts. All its containers have the same one. */
export const BOOT =
  attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()) ??
  attempt(() => execFileSync('sysctl', ['-n', 'kern.bootsessionuuid'], { encoding: 'utf8', stdio: 'pipe' }).trim()) ??
  hostname();

/** The host name and eight hex digits. It has only letters, digits, dots and dashes. */
export const PLACE = `${hostname().replace(/[^A-Za-z0-9.-]/g, '-')}-${createHash('sha256')
  .update(`${BOOT} ${attempt(() => readlinkSync('/proc/self/ns/pid')) ?? ''}`)
  .digest('hex')
  .slice(0, 8)}`;

/** Whether a place is this one. The hex digits decide, because the host name may have changed. */
export const isHere = (/** @type {string | undefined} */ place) => place?.slice(-8) === PLACE.slice(-8);

/** @param {() => string} read */
function attempt(read) {
  try {
    return read();
  } catch {
    return undefined; // this system does not have the file or the command
  }
}
