// The interpreter's file system lives in JavaScript, beyond the heap that is put back after every job. So writes are
// allowed below /tmp only, are counted, and are undone here.

const TMP_BYTES = 16 << 20; // written by one program
const TMP_FILES = 1000;
const { EPERM, ENOSPC } = { EPERM: 63, ENOSPC: 51 }; // WASI's numbers

/** What is used of Emscripten's FS. */
export interface MemFs {
  filesystems: Record<string, unknown>;
  ErrnoError: new (errno: number) => Error;
  streams: ({ fd: number } | null)[];
  analyzePath(path: string): { exists: boolean };
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

/** Takes hold of a file system: seals it at once, and restores it after each job. */
export class Files {
  bytes = 0;
  files = 0;
  #unlink: MemFs['unlink'];
  #rmdir: MemFs['rmdir'];

  constructor(readonly fs: MemFs) {
    for (const name of ['NODEFS', 'PROXYFS', 'IDBFS', 'WORKERFS', 'NODESOCKFS', 'NATIVEFS_ASYNC']) delete fs.filesystems[name];
    this.#unlink = fs.unlink.bind(fs);
    this.#rmdir = fs.rmdir.bind(fs);
    this.#seal('/');
    const chmod = fs['chmod'] as (node: unknown, mode: number) => void;
    fs['chmod'] = (node: unknown, mode: number) => {
      if (typeof node === 'string') this.#refuse(EPERM); // a program's; the file system itself passes the node it made
      chmod.call(fs, node, mode);
    };
    for (const name of ['lchmod', 'fchmod', 'chown', 'lchown', 'fchown', 'mount', 'unmount', 'mkdev', 'createDevice'])
      fs[name] = () => this.#refuse(EPERM);
    this.#meter('write', (_stream, _buffer, _offset, length) => this.#spend(Number(length), 0));
    this.#meter('truncate', (_path, length) => this.#spend(Number(length), 0));
    this.#meter('ftruncate', (_fd, length) => this.#spend(Number(length), 0));
    this.#meter('allocate', (_stream, offset, length) => this.#spend(Number(offset) + Number(length), 0));
    this.#meter('mknod', () => this.#spend(0, 1));
    this.#meter('symlink', () => this.#spend(0, 1));
  }

  /** Puts the file system back; throws where it cannot. */
  restore(): void {
    for (const stream of this.fs.streams) if (stream && stream.fd > 2) this.fs.close(stream);
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
      if (this.fs.isLink(mode) || (path.startsWith("/dev/") && !this.fs.isDir(mode))) continue;
      if (this.fs.isDir(mode)) this.#seal(path);
      (this.fs['chmod'] as (path: string, mode: number) => void)(path, this.fs.isDir(mode) ? 0o555 : 0o444);
    }
    if (folder === '/') (this.fs['chmod'] as (path: string, mode: number) => void)('/', 0o555);
    this.fs['ignorePermissions'] = false;
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
