// What CUDA needs beside onnxruntime-node, as packages on PyPI. Only the libraries in them are used.

export interface Wheel {
  name: string;
  version: string;
  sha256: string;
  pip?: string[]; // flags that select a wheel for another Python than the one of this machine
  folder: string; // the folder in the wheel that has the libraries
}

/** The version of onnxruntime-node, whose library loads only the provider of the same release. It needs CUDA 13. */
export const PROVIDER: Wheel = {
  name: 'onnxruntime-gpu',
  version: '1.30.0',
  sha256: '4fbf0c5d7b5fb99266c2e8a802e3e64af68bdc383e0f3c7349b985f1087eedaa',
  pip: ['--python-version=311', '--abi=cp311', '--platform=manylinux_2_28_x86_64'],
  folder: 'onnxruntime/capi',
};
/** Compute capabilities (times ten) with machine code in the provider. The code also runs on later cards of a generation. */
const CODE = [75, 80, 86, 89, 90, 120];
/** The oldest driver for CUDA 13. */
const DRIVER = 580;

/** Says why CUDA cannot work on a card; undefined if it can. */
export function cardFault({ capability, driver }: { capability: string; driver: string }): string | undefined {
  if (Number.parseInt(driver, 10) < DRIVER) return `its driver is ${driver}, and CUDA 13 needs ${DRIVER} or newer`;
  const own = Math.round(10 * Number(capability));
  const generation = (each: number): number => Math.floor(each / 10);
  if (CODE.some((each) => each <= own && generation(each) === generation(own))) return undefined;
  const known = CODE.map((each) => (each / 10).toFixed(1)).join(', ');
  return `its compute capability is ${capability}, and the CUDA provider has code for ${known}`;
}

export const PROVIDER_FILES = ['libonnxruntime_providers_shared.so', 'libonnxruntime_providers_cuda.so'] as const;

/** NVIDIA's libraries by package, in the order in which they load. */
export const NVIDIA: readonly (Wheel & { files: readonly string[] })[] = [
  {
    name: 'nvidia-cuda-runtime',
    version: '13.0.96',
    sha256: '7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548',
    folder: 'nvidia/cu13/lib',
    files: ['libcudart.so.13'],
  },
  {
    name: 'nvidia-cublas',
    version: '13.0.2.14',
    sha256: '0cf238ffdbe46c00cb9aa98e7bca745c223a5ca5a53e686ac8b3e5a08fe80d6c',
    folder: 'nvidia/cu13/lib',
    files: ['libcublasLt.so.13', 'libcublas.so.13'],
  },
  {
    name: 'nvidia-curand',
    version: '10.4.0.35',
    sha256: '1aee33a5da6e1db083fe2b90082def8915f30f3248d5896bcec36a579d941bfc',
    folder: 'nvidia/cu13/lib',
    files: ['libcurand.so.10'],
  },
];
