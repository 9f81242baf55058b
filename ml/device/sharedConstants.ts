// Constants of graphs that are in files. Each is copied to a device once for all graphs of a thread: a card has no room for a copy
// per open graph.
import type { Graph } from '../ir/graph.js';
import { DeviceTensor, type MemoryKind } from './deviceSession.js';
import { readRange } from './weightLocations.js';

interface Held {
  bytes: DeviceTensor;
  graphs: number; // how many graphs use it
}

const held = new Map<string, Held>(); // what this thread holds

export class SharedConstants {
  readonly feeds: Record<string, DeviceTensor> = {};
  private readonly keys: string[] = [];

  /** Turns the constants into inputs of the graph. */
  constructor(graph: Graph, memory: MemoryKind) {
    for (const [value, data] of [...graph.constants]) {
      if (data.kind !== 'external') continue;
      const { location, offset, length } = data;
      const key = [memory, location, offset, length].join(' ');
      const { bytes, graphs } = held.get(key) ?? { bytes: DeviceTensor.empty(memory, 'uint8', [length]), graphs: 0 };
      if (graphs === 0) bytes.write(readRange(data, length));
      held.set(key, { bytes, graphs: graphs + 1 });
      this.keys.push(key);
      this.feeds[value.name] = bytes.as(value.dtype, value.shape as number[]);
      graph.constants.delete(value);
      graph.inputs.push(value);
    }
  }

  release(): void {
    for (const feed of Object.values(this.feeds)) feed.dispose();
    for (const key of this.keys.splice(0)) {
      const one = held.get(key)!;
      if (--one.graphs > 0) continue;
      one.bytes.dispose();
      held.delete(key);
    }
  }
}
