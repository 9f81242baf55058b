// Constants that graphs have in files, on a device: each is copied there once for all graphs of a thread. As constants of a graph
// they would be copied for every open graph, which a card has no room for.
import type { Graph } from '../ir/graph.js';
import { bytesOf, sizeOf } from '../ir/op.js';
import { arrayOver, DeviceTensor, type MemoryKind } from './deviceSession.js';
import { readRange } from './weightLocations.js';

interface Held {
  tensor: DeviceTensor;
  graphs: number; // that use it
}

const held = new Map<string, Held>(); // of this thread

export class SharedConstants {
  readonly feeds: Record<string, DeviceTensor> = {};
  private readonly keys: string[] = [];

  /** Turns the constants into inputs of the graph. */
  constructor(graph: Graph, memory: MemoryKind) {
    for (const [value, data] of [...graph.constants]) {
      if (data.kind !== 'external') continue;
      const { name, dtype, shape } = value;
      const dims = shape as number[];
      const key = [memory, data.location, data.offset, dtype, ...dims].join(' ');
      const known = held.get(key);
      const tensor = known?.tensor ?? DeviceTensor.empty(memory, dtype, dims);
      if (!known) tensor.write(arrayOver(dtype, readRange(data, bytesOf(dtype, sizeOf(dims)))));
      held.set(key, { tensor, graphs: (known?.graphs ?? 0) + 1 });
      this.keys.push(key);
      this.feeds[name] = tensor;
      graph.constants.delete(value);
      graph.inputs.push(value);
    }
  }

  release(): void {
    for (const key of this.keys.splice(0)) {
      const one = held.get(key)!;
      if (--one.graphs > 0) continue;
      one.tensor.dispose();
      held.delete(key);
    }
  }
}
