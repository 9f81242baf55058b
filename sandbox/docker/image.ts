// The Python image of the sandbox: the stock one where a registry answers quickly, else built from Debian packages.
import { spawn } from 'node:child_process';
import path from 'node:path';
import type Docker from 'dockerode';
import { GauntletError } from '../../core/errors.js';
import { packageRoot } from '../guest/source.js';

export const IMAGE = 'gauntlet-python:1';
const STOCK = 'python:3.12-slim';
const FIRST_BYTE_MS = 5000; // a registry that has not begun by then is taken as absent
const PULL_MS = 300_000;

/** The name of an image with python3, made where it is missing. @throws GauntletError SANDBOX_UNAVAILABLE */
export async function ensureImage(docker: Docker, log: (line: string) => void): Promise<string> {
  if (await has(docker, IMAGE)) return IMAGE;
  if (!(await has(docker, STOCK))) {
    log(`sandbox: pulling ${STOCK} (once)`);
    const reason = await pull(docker, STOCK);
    if (reason) {
      log(`sandbox: no registry (${reason}); building ${IMAGE} from Debian packages (once)`);
      await build(docker);
      return IMAGE;
    }
  }
  await docker.getImage(STOCK).tag({ repo: 'gauntlet-python', tag: '1' });
  return IMAGE;
}

async function has(docker: Docker, image: string): Promise<boolean> {
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

/** Why the pull failed, in one line; undefined when the image is there. */
async function pull(docker: Docker, image: string): Promise<string | undefined> {
  const abort = new AbortController();
  let timer = setTimeout(() => abort.abort(), FIRST_BYTE_MS);
  try {
    const stream = await docker.pull(image, { abortSignal: abort.signal });
    await new Promise<void>((resolve, reject) => {
      abort.signal.addEventListener('abort', () => {
        (stream as unknown as { destroy(): void }).destroy();
        reject(new Error('no answer in time'));
      });
      docker.modem.followProgress(
        stream,
        (error) => (error ? reject(error) : resolve()),
        () => {
          clearTimeout(timer);
          timer = setTimeout(() => abort.abort(), PULL_MS);
        },
      );
    });
    return undefined;
  } catch (error) {
    return abort.signal.aborted ? 'no answer in time' : (error as Error).message.split('\n')[0]!.slice(0, 120);
  } finally {
    clearTimeout(timer);
  }
}

/** Pipes the tar that the build script writes into Docker's import. */
async function build(docker: Docker): Promise<void> {
  const script = path.join(packageRoot(), 'infra/images/build-python-image.sh');
  const child = spawn('bash', [script], { stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (text) => {
    errors = (errors + text).slice(-4000);
  });
  const exited = new Promise((resolve) => child.once('error', resolve).once('close', resolve));
  const changes = ['ENV PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8', 'WORKDIR /tmp', 'CMD ["python3"]'];
  const progress = await docker.importImage(child.stdout, { repo: 'gauntlet-python', tag: 'new', changes });
  await new Promise<void>((resolve, reject) =>
    docker.modem.followProgress(progress, (error) => (error ? reject(error) : resolve())),
  ).catch((error) => {
    errors += `\n${(error as Error).message}`;
  });
  const status = await exited;
  if (status === 0) await docker.getImage('gauntlet-python:new').tag({ repo: 'gauntlet-python', tag: '1' });
  await docker
    .getImage('gauntlet-python:new')
    .remove()
    .catch(() => {});
  if (status !== 0) {
    const reason = errors.trim().split('\n').pop();
    throw new GauntletError(
      'SANDBOX_UNAVAILABLE',
      `no Python image: ${STOCK} cannot be pulled, and building failed: ${reason}`,
    );
  }
}
