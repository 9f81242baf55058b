// NVIDIA's libraries that the CUDA provider is linked to. `gauntlet setup cuda` installs those that are missing.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type * as Koffi from 'koffi';
import { cacheFolder } from '../hf/files.js';

/** The libraries in the order in which they load. The provider finds what is loaded already. */
export const CUDA_LIBRARIES = ['libcudart.so.13', 'libcublasLt.so.13', 'libcublas.so.13', 'libcurand.so.10'] as const;

export const cudaFolder = (): string => join(cacheFolder(), 'cuda-13');

const kept: Koffi.LibraryHandle[] = []; // a library that is collected is closed
let isLoaded = false;

/** Loads the libraries of the folder. The system finds the others by itself. */
export function loadCudaLibraries({ load }: Pick<typeof Koffi, 'load'>): void {
  if (isLoaded) return;
  isLoaded = true;
  for (const name of CUDA_LIBRARIES) {
    const path = join(cudaFolder(), name);
    if (existsSync(path)) kept.push(load(path));
  }
}

/** Whether the system, or the folder, has a library. */
export function hasLibrary({ load }: Pick<typeof Koffi, 'load'>, name: string): boolean {
  if (existsSync(join(cudaFolder(), name))) return true;
  try {
    kept.push(load(name));
    return true;
  } catch {
    return false;
  }
}
