// A proxy on this machine that connects every name below .example with 127.0.0.1, and the variables that name proxies.
import { createServer, request as httpRequest } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { pipeline } from 'node:stream';

const NAMES = ['http_proxy', 'https_proxy', 'all_proxy', 'grpc_proxy', 'no_proxy', 'no_grpc_proxy'];
export const PROXY_VARIABLES = NAMES.flatMap((name) => [name, name.toUpperCase()]);

/** Runs `work` with only these proxy variables. */
export function withVariables<T>(variables: Record<string, string>, work: () => T): T {
  const before = PROXY_VARIABLES.map((name) => [name, process.env[name]] as const);
  const restore = (): void => {
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  };
  for (const name of PROXY_VARIABLES) delete process.env[name];
  Object.assign(process.env, variables);
  let result: T;
  try {
    result = work();
  } catch (error) {
    restore();
    throw error;
  }
  if (result instanceof Promise) return result.finally(restore) as T;
  restore();
  return result;
}

export interface FakeProxy {
  url: string;
  /** Requests in order, such as 'CONNECT temporal.example:7233' or 'GET http://hub.example/…', with the user if there is one. */
  requests: string[];
  refuses?: number; // the status that the proxy returns instead of a tunnel
  close(): Promise<void>;
}

export async function openProxy(): Promise<FakeProxy> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const here = (host: string): string => (host.endsWith('.example') ? '127.0.0.1' : host);
  const keep = (line: string, authorization: string | undefined): void => {
    const user = authorization && Buffer.from(authorization.replace('Basic ', ''), 'base64').toString();
    requests.push(user === undefined ? line : `${line} ${user}`);
  };
  const server = createServer(({ method, url, headers }, response) => {
    keep(`${method} ${url}`, headers['proxy-authorization']);
    const { hostname, port, pathname, search } = new URL(url!);
    const onward = httpRequest({ host: here(hostname), port: port || 80, method, path: pathname + search, headers });
    onward.on('response', (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      pipeline(answer, response, () => undefined); // ends both connections when one of them ends
    });
    onward.on('error', () => response.writeHead(502).end());
    onward.end();
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('connect', ({ url, headers }, client: Socket) => {
    keep(`CONNECT ${url}`, headers['proxy-authorization']);
    if (proxy.refuses !== undefined) return void client.end(`HTTP/1.1 ${proxy.refuses} No\r\n\r\n`);
    const [host, port] = url!.split(':');
    const onward = connect(Number(port), here(host!), () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      onward.pipe(client).pipe(onward);
    });
    onward.on('error', () => client.destroy());
    client.on('error', () => onward.destroy());
    client.on('close', () => onward.destroy());
  });
  await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle));
  const proxy: FakeProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((settle) => {
        server.close(() => settle());
        for (const socket of sockets) socket.destroy();
      }),
  };
  return proxy;
}
