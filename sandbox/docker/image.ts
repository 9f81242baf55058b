// Makes the images of the sandbox if they are missing: from the stock image of Python if a registry answers quickly, else
// from Debian packages.
import { spawn } from 'node:child_process';
import path from 'node:path';
import type Docker from 'dockerode';
import { GauntletError } from '../../core/base/errors.js';
import type { Packages } from '../../core/schema/execution.js';
import { ROOT } from '../../infra/root.mjs';

/** none: the standard library only; numpy: also sortedcontainers, as interview sites have it, and pytest for test source. */
export const IMAGES: Record<Packages, string> = { none: 'gauntlet-python:2', numpy: 'gauntlet-python-numpy:3' };
const PIP: Record<Packages, string> = { none: '', numpy: 'numpy==1.26.4 pytest==7.4.4 sortedcontainers==2.4.0' };
const STOCK = 'python:3.12-slim';
const FIRST_BYTE_MS = 5000; // then the registry counts as absent
const PULL_MS = 300_000;
const FOLDER = 'infra/images';

/**
 * Returns the digest of the image, and makes the image if it is missing. Containers are created from the digest, since a
 * tag may move. @throws GauntletError SANDBOX_UNAVAILABLE
 */
export const ensureImage = async (docker: Docker, packages: Packages, log: (line: string) => void): Promise<string> =>
  digestOf(docker, await makeImage(docker, packages, log));

/** Returns the digest of an image of the user's, and pulls it if it is missing. @throws GauntletError SANDBOX_UNAVAILABLE */
export async function ensureOwnImage(docker: Docker, image: string, log: (line: string) => void): Promise<string> {
  if (!(await hasImage(docker, image))) {
    log(`sandbox: pulling ${image} (once)`);
    const reason = await pull(docker, image);
    if (reason)
      throw new GauntletError(
        'SANDBOX_UNAVAILABLE',
        `containers.image: no image ${image}, and it cannot be pulled (${reason}): build it, or name another one`,
      );
  }
  return digestOf(docker, image);
}

/** The digest of the image for test source. It is made when it is first needed; until then, its name. */
export const testImage = async (docker: Docker): Promise<string> =>
  (await hasImage(docker, IMAGES.numpy)) ? digestOf(docker, IMAGES.numpy) : IMAGES.numpy;

async function digestOf(docker: Docker, image: string): Promise<string> {
  const { Id } = await docker.getImage(image).inspect();
  return Id;
}

async function makeImage(docker: Docker, packages: Packages, log: (line: string) => void): Promise<string> {
  const image = IMAGES[packages];
  if (await hasImage(docker, image)) return image;
  let reason: string | undefined;
  if (!(await hasImage(docker, STOCK))) {
    log(`sandbox: pulling ${STOCK} (once)`);
    reason = await pull(docker, STOCK);
    if (reason) reason = `the Docker registry does not answer (${reason})`;
  }
  if (!reason) {
    log(`sandbox: building ${image} from ${STOCK} (once)`);
    reason = await buildStock(docker, packages, image);
    if (!reason) return image;
    if (packages === 'none') {
      await tag(docker, STOCK, image); // works, but starts more slowly
      return image;
    }
  }
  log(`sandbox: ${reason}; building ${image} from Debian packages (once)`);
  await buildDebian(docker, packages, image, reason);
  return image;
}

/** Whether the daemon has the image. @throws GauntletError SANDBOX_FAULT if it does not answer */
export async function hasImage(docker: Docker, image: string): Promise<boolean> {
  try {
    await docker.getImage(image).inspect();
    return true;
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode === 404) return false;
    throw new GauntletError('SANDBOX_FAULT', `Docker could not look up an image: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

const oneLine = (error: unknown): string => (error as Error).message.split('\n')[0]!.slice(0, 200);

async function tag(docker: Docker, from: string, image: string): Promise<void> {
  const [repo, version] = image.split(':') as [string, string];
  await docker.getImage(from).tag({ repo, tag: version });
}

/** Waits for the end of a stream of progress lines. */
function followProgress(docker: Docker, stream: NodeJS.ReadableStream, onLine: () => void = () => {}): Promise<void> {
  return new Promise((resolve, reject) =>
    docker.modem.followProgress(stream, (error) => (error ? reject(error) : resolve()), onLine),
  );
}

/** Pulls an image. Returns why that failed, in one line, or undefined. */
async function pull(docker: Docker, image: string): Promise<string | undefined> {
  const abort = new AbortController();
  let timer = setTimeout(() => abort.abort(), FIRST_BYTE_MS);
  const late = new Promise<never>((_, reject) => {
    abort.signal.addEventListener('abort', () => reject(new Error('no answer in time')));
  });
  late.catch(() => {});
  try {
    const stream = await docker.pull(image, { abortSignal: abort.signal });
    abort.signal.addEventListener('abort', () => (stream as unknown as { destroy(): void }).destroy());
    const following = followProgress(docker, stream, () => {
      clearTimeout(timer);
      timer = setTimeout(() => abort.abort(), PULL_MS);
    });
    await Promise.race([following, late]);
    return undefined;
  } catch (error) {
    return abort.signal.aborted ? 'no answer in time' : oneLine(error);
  } finally {
    clearTimeout(timer);
  }
}

/** Builds on the stock image. Returns why that failed, in one line, or undefined. */
async function buildStock(docker: Docker, packages: Packages, image: string): Promise<string | undefined> {
  const dockerfile = 'python.Dockerfile';
  const context = { context: path.join(ROOT, FOLDER), src: [dockerfile] };
  try {
    const stream = await docker.buildImage(context, {
      t: image,
      dockerfile,
      buildargs: { PACKAGES: PIP[packages], ...proxies() },
      networkmode: 'host', // also works if the daemon has no bridge
      rm: true,
      forcerm: true,
    });
    await followProgress(docker, stream);
    return (await hasImage(docker, image)) ? undefined : `building on ${STOCK} made no image`;
  } catch (error) {
    return `building on ${STOCK} failed (${oneLine(error)})`;
  }
}

/** Build arguments that Docker predefines. */
function proxies(): Record<string, string> {
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

/** Pipes the tar of the build script into Docker's import, and tags the image once it is complete. */
async function buildDebian(docker: Docker, packages: Packages, image: string, why: string): Promise<void> {
  const child = spawn('bash', [path.join(ROOT, FOLDER, 'build-python-image.sh'), packages], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (text) => {
    errors = (errors + text).slice(-4000);
  });
  const exited = new Promise((resolve) => child.once('error', resolve).once('close', resolve));
  const changes = [
    'ENV PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8',
    'WORKDIR /tmp',
    'CMD ["python3"]',
    'LABEL gauntlet.sandbox.image=debian',
  ];
  const repo = image.split(':')[0]!;
  const draft = `new-${process.pid}`;
  const progress = await docker.importImage(child.stdout, { repo, tag: draft, changes });
  await followProgress(docker, progress).catch((error) => {
    errors += `\n${(error as Error).message}`;
  });
  const status = await exited;
  if (status === 0) await tag(docker, `${repo}:${draft}`, image);
  await docker
    .getImage(`${repo}:${draft}`)
    .remove()
    .catch(() => {});
  if (status !== 0) {
    const reason = errors.trim().split('\n').pop();
    throw new GauntletError('SANDBOX_UNAVAILABLE', `no image ${image}: ${why}, and building one failed: ${reason}`);
  }
}
