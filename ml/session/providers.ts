// Which execution providers this installation of ONNX Runtime carries.
import { listSupportedBackends } from 'onnxruntime-node';

/** Names such as `cpu`, `webgpu`, `cuda`. */
export function listProviders(): string[] {
  return listSupportedBackends().map(({ name }) => name);
}
