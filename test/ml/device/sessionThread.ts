// A thread for deviceSession.test.ts. It opens a session with weights of 64 MB, and ends without closing it.
import { DeviceSession, DeviceTensor } from '../../../ml/device/deviceSession.js';
import { exclusively } from '../../../ml/device/exclusive.js';
import { Graph } from '../../../ml/ir/graph.js';
import { encodeModel } from '../../../ml/onnx/encode.js';

const [ROWS, N] = [64, 4000];
const g = new Graph();
g.output('y', g.matMul(g.input('x', 'float32', [ROWS, N]), g.constant('w', [N, N], new Float32Array(N * N).fill(0.5))));
const session = DeviceSession.open(encodeModel(g), { memory: 'cpu' });
const [x, y] = [0, 1].map(() => DeviceTensor.empty('cpu', 'float32', [ROWS, N])) as [DeviceTensor, DeviceTensor];
const binding = session.bind({ x }, { y });
for (let i = 0; i < 3; i++) binding.run();
exclusively(() => process.exit(3)); // the thread ends while it calls CUDA
