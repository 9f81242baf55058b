// The options of a container, which close everything that a program could reach. docs/sandbox.md explains each one.
import { randomInt } from 'node:crypto';
import type Docker from 'dockerode';
import type { Isolation } from '../../core/schema/execution.js';
import { guestSource } from '../guest/source.js';
import { SECCOMP_PROFILE } from './seccomp.js';

export interface ContainerSpec {
  image: string;
  isolation: Isolation;
  memoryMb: number; // a program may use so much
  runtime?: string | null;
  seccomp?: boolean; // the daemon can filter system calls
  remapped?: boolean; // the daemon maps only few uids into containers
  preload?: readonly string[]; // modules that pid 1 imports before the first program
  silenceSeconds?: number; // a guest ends after so long without a message
  /** values: runs programs on inputs. program (default): also holds programs for tests. tests: runs test source. */
  guest?: 'values' | 'program' | 'tests';
}

const HARNESS_MB = 64; // added to the memory of the program
const PROCESSES = 64;
/** gVisor's kernel is a process in the container's cgroup, and has several threads for each thread of a program. */
const GVISOR = { memoryMb: 128, processes: 2048 };
/** Otherwise a program sees the host's names of cgroups on cgroup 1. The types of dockerode lack the field. */
const PRIVATE_CGROUPS = { CgroupnsMode: 'private' };
const MIB = 2 ** 20;
const NOBODY = 65534;
export const SILENCE_SECONDS = 60;

/** Each container has its own range of uids, since the kernel counts some resources per uid across containers. */
const WIDE = { first: 1_000_000, span: 100_000, ranges: 10_000 };
const NARROW = { first: 1_000, span: 2_000, ranges: 31 }; // below 65 534, as rootless and userns-remap require
let nextRange = randomInt(0, WIDE.ranges);

export function uidRange(remapped: boolean): { first: number; span: number } {
  const { first, span, ranges } = remapped ? NARROW : WIDE;
  return { first: first + (nextRange++ % ranges) * span, span };
}

export function containerOptions(spec: ContainerSpec): Docker.ContainerCreateOptions {
  const { isolation, remapped = false, preload = [], silenceSeconds: silence = SILENCE_SECONDS } = spec;
  const kernel = /runsc|gvisor/i.test(spec.runtime ?? '') ? GVISOR : undefined;
  const memory = (spec.memoryMb + HARNESS_MB + (kernel?.memoryMb ?? 0)) * MIB;
  const ownUid = isolation === 'uid';
  const { first, span } = ownUid ? uidRange(remapped) : { first: NOBODY, span: 0 };
  const guest = spec.guest ?? 'program';
  const guestOptions = { isolation, first, span, preload, valuesOnly: guest === 'values', silence };
  return {
    Image: spec.image,
    Cmd: ['python3', '-P', '-s', '-B', '-c', guestSource(guest), JSON.stringify(guestOptions)],
    Entrypoint: [],
    // own uid: only pid 1 is root, with three capabilities; every program gets its own uid and none
    User: ownUid ? '0:0' : `${NOBODY}:${NOBODY}`,
    WorkingDir: '/tmp',
    Env: ['PYTHONHASHSEED=0', 'LANG=C.UTF-8', 'HOME=/tmp', 'OPENBLAS_NUM_THREADS=1', 'OMP_NUM_THREADS=1'],
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    OpenStdin: true,
    StdinOnce: true,
    StopSignal: 'SIGKILL', // pid 1 ignores other signals, so a restarted daemon would wait 10 s
    Tty: false,
    NetworkDisabled: true,
    HostConfig: {
      NetworkMode: 'none',
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      CapAdd: ownUid ? ['SETUID', 'SETGID', 'KILL'] : [],
      SecurityOpt: ['no-new-privileges', ...(spec.seccomp ? [`seccomp=${SECCOMP_PROFILE}`] : [])],
      Memory: memory,
      MemorySwap: memory,
      PidsLimit: kernel?.processes ?? PROCESSES,
      NanoCpus: 1e9,
      OomScoreAdj: 500,
      IpcMode: 'none',
      AutoRemove: true,
      Init: false, // pid 1 must be the guest
      RestartPolicy: { Name: 'no' },
      LogConfig: { Type: 'none', Config: {} },
      ...(spec.runtime ? { Runtime: spec.runtime } : {}),
      ...PRIVATE_CGROUPS,
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
        { Name: 'stack', Soft: 8 * MIB, Hard: 100 * MIB }, // the guest raises that of programs (STACK in forkserver.py)
        { Name: 'nice', Soft: 0, Hard: 0 },
        { Name: 'rtprio', Soft: 0, Hard: 0 },
      ],
    },
  };
}
