// Connections that send no request or only the beginning of one.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const STARTS = [
  '',
  'GET / HTTP/1.1\r\nHost: 127',
  'POST /api/control/a HTTP/1.1\r\nHost: evil\r\nContent-Length: 9\r\n\r\n{',
];

/** Waits until all connections are open. The server may end them. */
export async function holdConnections(url: string, count: number): Promise<Socket[]> {
  const { hostname: host, port } = new URL(url);
  const sockets = Array.from({ length: count }, () => connect({ host, port: Number(port) }));
  await Promise.all(
    sockets.map(async (socket, i) => {
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      socket.resume().write(STARTS[i % STARTS.length]!);
    }),
  );
  return sockets;
}
