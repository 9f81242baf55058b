// The interpreter's file system is JavaScript, outside the heap that is restored after every job. So this file allows
// writes below /tmp only, counts them, and undoes them.

const TMP_BYTES = 16 << 20; // the most bytes that one program may write
const TMP_FILES = 1000;
const { EPERM, ENOSPC } = { EPERM: 63, ENOSPC: 51 }; // the numbers that WASI gives these errors

interface Node {
  mode: number;
  usedBytes?: number;
  atime: unknown;
  mtime: unknown;
  ctime: unknown;
}
interface Stream {
  fd: number;
  position: number;
  node?: Node;
  shared: object; // flags and position, which all duplicates of a descriptor share
}
const STANDARD = 3; // descriptors 0 to 2 are the standard streams

/** The part of Emscripten's FS that this file uses. */
export interface MemFs {
  filesystems: Record<string, unknown>;
  ErrnoError: new (errno: number) => Error;
  streams: (Stream | null)[];
  lookupPath(path: string, options: { follow: boolean }): { node: Node };
  isFile(mode: number): boolean;
  isChrdev(mode: number): boolean;
  readdir(path: string): string[];
  lstat(path: string): { mode: number };
  isDir(mode: number): boolean;
  isLink(mode: number): boolean;
  chdir(path: string): void;
  rmdir(path: string): void;
  unlink(path: string): void;
  close(stream: unknown): void;
  [method: string]: unknown;
}

/** A character device. It must be added before the file system is sealed. */
export interface Device {
  read(buffer: Uint8Array, offset: number, length: number): number;
  write(buffer: Uint8Array, offset: number, length: number): number;
}

export function addDevice(fs: MemFs, path: string, { read, write }: Device): void {
  const number = (fs.makedev as (major: number, minor: number) => number)(64, 0);
  (fs.registerDevice as (dev: number, ops: object) => void)(number, {
    open: (stream: { seekable: boolean }) => {
      stream.seekable = false;
    },
    close: () => {},
    read: (_stream: unknown, buffer: Uint8Array, offset: number, length: number) => read(buffer, offset, length),
    write: (_stream: unknown, buffer: Uint8Array, offset: number, length: number) => write(buffer, offset, length),
  });
  (fs.mkdev as (path: string, mode: number, dev: number) => void)(path, 0o666, number);
}

/** How many bytes a write adds. A file also grows by the hole before the written part; a device does not grow. */
function growth({ node, position }: Stream, length: number, at: number | undefined, fs: MemFs): number {
  if (!node || fs.isChrdev(node.mode)) return 0;
  if (!fs.isFile(node.mode)) return length;
  return Math.max(length, (at ?? position) + length - (node.usedBytes ?? 0));
}

/** Seals a file system and restores it after each job. */
export class Files {
  bytes = 0;
  files = 0;
  #unlink: MemFs['unlink'];
  #rmdir: MemFs['rmdir'];
  #standard: { stream: Stream | null; shared: object }[];

  constructor(readonly fs: MemFs) {
    for (const name of ['NODEFS', 'PROXYFS', 'IDBFS', 'WORKERFS', 'NODESOCKFS', 'NATIVEFS_ASYNC'])
      delete fs.filesystems[name];
    this.#unlink = fs.unlink.bind(fs);
    this.#rmdir = fs.rmdir.bind(fs);
    this.#standard = fs.streams.slice(0, STANDARD).map((stream) => ({ stream, shared: { ...stream?.shared } }));
    this.#seal('/');
    this.#freezeTimes('/tmp');
    const chmod = fs.chmod as (node: unknown, mode: number) => void;
    fs.chmod = (node: unknown, mode: number) => {
      if (typeof node === 'string') this.#refuse(EPERM); // a program passes a path, the file system itself a node
      chmod.call(fs, node, mode);
    };
    for (const name of ['lchmod', 'fchmod', 'chown', 'lchown', 'fchown', 'mount', 'unmount', 'mkdev', 'createDevice'])
      fs[name] = () => this.#refuse(EPERM);
    this.#meter('write', (stream, _buffer, _offset, length, position) =>
      this.#spend(growth(stream as Stream, Number(length), position as number | undefined, fs), 0),
    );
    this.#meter('msync', (_stream, _buffer, offset, length) => this.#spend(Number(offset) + Number(length), 0));
    this.#meter('truncate', (_path, length) => this.#spend(Number(length), 0));
    this.#meter('ftruncate', (_fd, length) => this.#spend(Number(length), 0));
    this.#meter('allocate', (_stream, offset, length) => this.#spend(Number(offset) + Number(length), 0));
    this.#meter('mknod', () => this.#spend(0, 1));
    this.#meter('symlink', () => this.#spend(0, 1));
  }

  /** @throws if the file system cannot be restored */
  restore(): void {
    const given = this.#standard.map(({ stream }) => stream);
    for (const stream of [...this.fs.streams]) if (stream && !given.includes(stream)) this.fs.close(stream);
    for (const [fd, { stream, shared }] of this.#standard.entries()) {
      this.fs.streams[fd] = stream; // a program may have closed or replaced the stream
      if (!stream) continue;
      stream.fd = fd;
      Object.assign(stream.shared, shared);
    }
    this.fs.chdir('/tmp');
    if (this.bytes + this.files === 0) return;
    this.#empty('/tmp');
    this.bytes = this.files = 0;
  }

  #seal(folder: string): void {
    for (const name of this.fs.readdir(folder)) {
      if (name === '.' || name === '..') continue;
      const path = `${folder === '/' ? '' : folder}/${name}`;
      if (path === '/tmp' || path === '/proc/self/fd') continue;
      const { mode } = this.fs.lstat(path);
      this.#freezeTimes(path);
      if (this.fs.isLink(mode) || (path.startsWith('/dev/') && !this.fs.isDir(mode))) continue;
      if (this.fs.isDir(mode)) this.#seal(path);
      (this.fs.chmod as (path: string, mode: number) => void)(path, this.fs.isDir(mode) ? 0o555 : 0o444);
    }
    if (folder === '/') this.#freezeTimes('/');
    if (folder === '/') (this.fs.chmod as (path: string, mode: number) => void)('/', 0o555);
    this.fs.ignorePermissions = false;
  }

  /** Keeps the times of a file as they are. Otherwise a program could leave a message for the next one in them. */
  #freezeTimes(path: string): void {
    const { node } = this.fs.lookupPath(path, { follow: false });
    for (const name of ['atime', 'mtime', 'ctime'] as const) {
      const time = node[name];
      Object.defineProperty(node, name, { get: () => time, set: () => {} });
    }
  }

  #meter(name: string, before: (...args: unknown[]) => void): void {
    const method = this.fs[name] as ((...args: unknown[]) => unknown) | undefined;
    if (!method) return;
    this.fs[name] = (...args: unknown[]) => {
      before(...args);
      return method.apply(this.fs, args);
    };
  }

  #spend(bytes: number, files: number): void {
    this.bytes += bytes;
    this.files += files;
    if (this.bytes > TMP_BYTES || this.files > TMP_FILES) this.#refuse(ENOSPC);
  }

  #refuse(errno: number): never {
    throw new this.fs.ErrnoError(errno);
  }

  #empty(folder: string): void {
    for (const name of this.fs.readdir(folder)) {
      if (name === '.' || name === '..') continue;
      const path = `${folder}/${name}`;
      if (this.fs.isDir(this.fs.lstat(path).mode)) {
        this.#empty(path);
        this.#rmdir(path);
      } else this.#unlink(path);
    }
  }
}
