// What a container of the sandbox is made with. Everything that a program could reach is closed here; see
// docs/sandbox.md for what each line is for.
import { randomInt } from 'node:crypto';
import type Docker from 'dockerode';
import type { Isolation, Language } from '../../core/schema/execution.js';
import { guestSource, jsGuestSource } from '../guest/source.js';

export interface ContainerSpec {
  image: string;
  language?: Language; // default: python
  isolation: Isolation; // of javascript: strict
  memoryMb: number; // of the program
  runtime?: string | null;
  remapped?: boolean; // the daemon maps few uids into containers
  plain?: boolean; // only jobs of values: a process gives up its rights ahead of its job
  preload?: readonly string[]; // modules that pid 1 imports before the first program comes
  silenceSeconds?: number; // a guest that hears nothing for so long ends
  guest?: 'forkserver' | 'tester' | 'checker'; // what it does: runs programs (default) or test source, or checks types
}

const HARNESS_MB: Record<Language, number> = { python: 64, javascript: 160 }; // beside the memory of the program
const MIB = 2 ** 20;
const NOBODY = 65534;
export const SILENCE_SECONDS = 60;

/** Ranges of uids: the kernel counts some resources per uid across containers, so each container has its own. */
const WIDE = { first: 1_000_000, span: 100_000, ranges: 10_000 };
const NARROW = { first: 1_000, span: 2_000, ranges: 31 }; // below 65 534, which rootless and userns-remap map
let nextRange = randomInt(0, WIDE.ranges);

export function uidRange(remapped: boolean): { first: number; span: number } {
  const { first, span, ranges } = remapped ? NARROW : WIDE;
  return { first: first + (nextRange++ % ranges) * span, span };
}

export function containerOptions(spec: ContainerSpec): Docker.ContainerCreateOptions {
  const { isolation, remapped = false, language = 'python', silenceSeconds: silence = SILENCE_SECONDS } = spec;
  const memory = (spec.memoryMb + HARNESS_MB[language]) * MIB;
  const { first, span } = isolation === 'uid' ? uidRange(remapped) : { first: NOBODY, span: 0 };
  const guest = { isolation, first, span, preload: spec.preload ?? [], plain: spec.plain ?? false, silence };
  return {
    Image: spec.image,
    Cmd:
      language === 'javascript'
        ? ['node', '-e', jsGuestSource(), JSON.stringify({ silence })]
        : [
            'python3',
            '-P',
            '-s',
            '-B',
            '-c',
            guestSource(spec.guest ?? (spec.plain ? 'plain' : 'forkserver')),
            JSON.stringify(guest),
          ],
    Entrypoint: [],
    // uid: inside, with three capabilities, for pid 1 alone; every program gets a uid of its own and none
    User: isolation === 'uid' ? '0:0' : `${NOBODY}:${NOBODY}`,
    WorkingDir: '/tmp',
    Env: ['PYTHONHASHSEED=0', 'LANG=C.UTF-8', 'OPENBLAS_NUM_THREADS=1', 'OMP_NUM_THREADS=1'],
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    OpenStdin: true,
    StdinOnce: true,
    StopSignal: 'SIGKILL', // a daemon that starts again ends what ran: pid 1 ignores other signals, for which it would wait 10 s
    Tty: false,
    NetworkDisabled: true,
    HostConfig: {
      NetworkMode: 'none',
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      CapAdd: isolation === 'uid' ? ['SETUID', 'SETGID', 'KILL'] : [],
      SecurityOpt: ['no-new-privileges'],
      Memory: memory,
      MemorySwap: memory,
      PidsLimit: 64,
      NanoCpus: 1e9,
      OomScoreAdj: 500,
      IpcMode: 'none',
      AutoRemove: true,
      Init: false, // pid 1 is the guest, whatever is the daemon's default
      RestartPolicy: { Name: 'no' },
      LogConfig: { Type: 'none', Config: {} },
      ...(spec.runtime ? { Runtime: spec.runtime } : {}),
      Tmpfs: { '/tmp': 'rw,noexec,nosuid,nodev,size=16m,nr_inodes=1k,mode=1777' },
      Sysctls: {
        'kernel.shmmni': '0',
        'kernel.msgmni': '0',
        'kernel.sem': '0 0 0 0',
        'fs.mqueue.queues_max': '0',
      },
      Ulimits: [
        { Name: 'core', Soft: 0, Hard: 0 },
        { Name: 'nofile', Soft: 64, Hard: 64 },
        { Name: 'fsize', Soft: 16 * MIB, Hard: 16 * MIB },
        { Name: 'stack', Soft: 8 * MIB, Hard: 8 * MIB }, // the rest would be what the daemon was started with
        { Name: 'nice', Soft: 0, Hard: 0 },
        { Name: 'rtprio', Soft: 0, Hard: 0 },
      ],
    },
  };
}
