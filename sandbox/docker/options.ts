// The options of a container. They close everything that a program could reach; docs/sandbox.md explains each one.
import { randomInt } from 'node:crypto';
import type Docker from 'dockerode';
import type { Isolation } from '../../core/schema/execution.js';
import { guestSource } from '../guest/source.js';
import { SECCOMP_PROFILE } from './seccomp.js';

export interface ContainerSpec {
  image: string;
  isolation: Isolation;
  memoryMb: number; // the most memory that a program may use
  runtime?: string | null;
  seccomp?: boolean; // the daemon can filter system calls
  remapped?: boolean; // containers have only few uids
  preload?: readonly string[]; // modules that pid 1 imports before the first program
  silenceSeconds?: number; // after this time without a message, a guest ends itself
  /** 'values' runs programs on inputs; 'program' (the default) also holds programs for tests; 'tests' runs test source. */
  guest?: 'values' | 'program' | 'tests';
}

const HARNESS_MB = 64; // memory for the guest itself, besides that for the program
const PROCESSES = 64;
/** gVisor's kernel runs inside the container's cgroup, with several threads for each thread of a program. */
const GVISOR = { memoryMb: 128, processes: 2048 };
/** Hides the host's names of cgroups from programs (cgroup 1). The types of dockerode lack the field. */
const PRIVATE_CGROUPS = { CgroupnsMode: 'private' };
const MIB = 2 ** 20;
const NOBODY = 65534;
export const SILENCE_SECONDS = 60;

/** Each container has its own range of uids, because the kernel counts some resources per uid across containers. */
const WIDE = { first: 1_000_000, span: 100_000, ranges: 10_000 };
const NARROW = { first: 1_000, span: 2_000, ranges: 31 }; // rootless daemons and userns-remap need uids below 65 534
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
    // with isolation uid, pid 1 is root with three capabilities; every program has its own uid and no capability
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
      Sysctls: { 'kernel.shmmni': '0', 'kernel.msgmni': '0', 'kernel.sem': '0 0 0 0', 'fs.mqueue.queues_max': '0' },
      Ulimits: [
        { Name: 'core', Soft: 0, Hard: 0 },
        { Name: 'nofile', Soft: 64, Hard: 64 },
        { Name: 'fsize', Soft: 16 * MIB, Hard: 16 * MIB },
        { Name: 'stack', Soft: 8 * MIB, Hard: 100 * MIB }, // the guest raises the limit for programs (STACK in forkserver.py)
        { Name: 'nice', Soft: 0, Hard: 0 },
        { Name: 'rtprio', Soft: 0, Hard: 0 },
      ],
    },
  };
}
