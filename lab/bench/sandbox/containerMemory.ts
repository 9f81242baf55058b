// Peak memory of the containers of one process, from their cgroups.
import Docker from 'dockerode';
import { OWNER, ownerIn } from '../../../sandbox/docker/reaper.js';

interface MemoryStats {
  max_usage?: number; // cgroup v1: the peak
  usage?: number; // cgroup v2: current
}

export async function containerBytes(pid: number): Promise<number> {
  const docker = new Docker();
  const containers = await docker.listContainers({ filters: { label: [OWNER] } });
  const own = containers.filter(({ Labels }) => ownerIn(Labels[OWNER])[1] === pid);
  const bytes = await Promise.all(
    own.map(async ({ Id }) => {
      const stats = (await docker.getContainer(Id).stats({ stream: false })) as { memory_stats: MemoryStats };
      return stats.memory_stats.max_usage ?? stats.memory_stats.usage ?? 0;
    }),
  );
  return bytes.reduce((sum, one) => sum + one, 0);
}
