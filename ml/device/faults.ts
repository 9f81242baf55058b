// Turns messages of ONNX Runtime and of CUDA into errors with a code and a way out.
import { readFileSync } from 'node:fs';
import { GauntletError } from '../../core/base/errors.js';

export const LESS_MEMORY =
  'a new run takes less with a smaller preset, engine.decoderRows=16 or engine.activationMegabytes=4000; ' +
  'engine.checkpointing=true changes no result';

export function runtimeFault(text: string): GauntletError {
  const why = reasonOf(text);
  if (/out of memory|failed to allocate memory|ALLOC_FAILED/i.test(why))
    return new GauntletError('OUT_OF_MEMORY', `the GPU has no more memory (${why}): ${LESS_MEMORY}`);
  if (/cudnn/i.test(why)) {
    const path = /\/\S*libcudnn\S*/.exec(readFileSync('/proc/self/maps', 'utf8'))?.[0] ?? 'of this machine';
    const way = 'it is not needed: take it off the library path, or put an empty file libcudnn.so.9 before it';
    return new GauntletError('DEVICE_UNAVAILABLE', `cuDNN ${path} does not work (${why}); ${way}`);
  }
  // after most errors of CUDA, every later call of the process fails, too
  const isOfCuda = /\b(cuda|cublas) (failure|error) \d+|^cuda\w+: /i.test(why);
  return new GauntletError(isOfCuda ? 'DEVICE_LOST' : 'ENGINE_FAULT', why);
}

export function faultIn(what: string, cause: unknown): GauntletError {
  const code = cause instanceof GauntletError ? cause.code : 'ENGINE_FAULT';
  return new GauntletError(code, `${what}: ${(cause as Error).message}`, { cause });
}

/** The reason in a message of the runtime, in one line without source files and conditions. */
export function reasonOf(message: string): string {
  const text = message.replace(/\s+/g, ' ').trim();
  const [failure] = /\b(CUDA|CUBLAS|CUDNN) failure \d+: [^;]+(?= ;)/.exec(text) ?? [];
  return failure ?? text.replace(/^.*?(?: was false\. | : FAIL : )/, '');
}
