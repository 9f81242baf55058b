// Makes the images of the sandbox if they are missing. They are based on the stock image of Python if a registry answers
// quickly, otherwise on Debian packages.
import { spawn } from 'node:child_process';
import path from 'node:path';
import type Docker from 'dockerode';
import { GauntletError } from '../../core/base/errors.js';
import type { Packages } from '../../core/schema/execution.js';
import { ROOT } from '../../infra/root.mjs';

/** 'none' has the standard library only. 'numpy' also has sortedcontainers, as interview sites do, and pytest for test source. */
export const IMAGES: Record<Packages, string> = { none: 'gauntlet-python:2', numpy: 'gauntlet-python-numpy:3' };
const PIP: Record<Packages, string> = { none: '', numpy: 'numpy==1.26.4 pytest==7.4.4 sortedcontainers==2.4.0' };
const STOCK = 'python:3.12-slim';
const FIRST_BYTE_MS = 5000; // a registry that takes longer counts as absent
const PULL_MS = 300_000;
const FOLDER = 'infra/images';

/**
 * Makes the image if it is missing. Returns its digest, from which containers are created, because a tag may move.
 * @throws GauntletError SANDBOX_UNAVAILABLE
 */
export const ensureImage = async (docker: Docker, packages: Packages, log: (line: string) => void): Promise<string> =>
  digestOf(docker, await makeImage(docker, packages, log));

/** Pulls an image of the user if it is missing, and returns its digest. @throws GauntletError SANDBOX_UNAVAILABLE */
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

/** Returns the digest of the image for test source, or its name if it is not made yet: the first use makes it. */
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
      await tag(docker, STOCK, image); // the stock image works too, but starts more slowly
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

/** Waits until the stream of progress lines ends. */
function followProgress(docker: Docker, stream: NodeJS.ReadableStream, onLine: () => void = () => {}): Promise<void> {
  return new Promise((resolve, reject) =>
    docker.modem.followProgress(stream, (error) => (error ? reject(error) : resolve()), onLine),
  );
}

/** Pulls an image. Returns undefined, or one line that says why it failed. */
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

/** Builds an image on the stock image. Returns undefined, or one line that says why it failed. */
async function buildStock(docker: Docker, packages: Packages, image: string): Promise<string | undefined> {
  const dockerfile = 'python.Dockerfile';
  const context = { context: path.join(ROOT, FOLDER), src: [dockerfile] };
  try {
    const stream = await docker.buildImage(context, {
      t: image,
      dockerfile,
      buildargs: { PACKAGES: PIP[packages], ...proxies() },
      networkmode: 'host', // works even if the daemon has no bridge
      rm: true,
      forcerm: true,
    });
    await followProgress(docker, stream);
    return (await hasImage(docker, image)) ? undefined : `building on ${STOCK} made no image`;
  } catch (error) {
    return `building on ${STOCK} failed (${oneLine(error)})`;
  }
}

/** The proxy settings of this process, as build arguments that Docker knows. */
function proxies(): Record<string, string> {
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

/** Imports the tar that the build script writes. The image gets its tag when it is complete. */
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
