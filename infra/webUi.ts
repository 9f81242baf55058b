// The Web UI of the embedded server for the people of this machine. The UI answers whoever connects, also web pages that
// rebind their name, so it listens where browsers do not connect. This proxy applies the access rules and passes requests on.
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import { createAccess, type Listener, limitConnections, listen, patience } from './httpServer.js';

const HOST = '127.0.0.1';
const MAX_CONNECTIONS = 256;
const REQUEST_MS = 30_000; // how long a client may take to send a request
const OF_ONE_CONNECTION = ['connection', 'keep-alive', 'upgrade', 'proxy-connection'];

/** Starts the proxy, which does not keep this program alive. */
export async function startWebUi(port: number, ui: { host: string; port: number }): Promise<Listener> {
  const access = createAccess(HOST, 'up');
  const server = createServer(patience(REQUEST_MS), (asked, response) => {
    const refused = access.refusal(asked);
    if (refused) refuse(response, refused.status, refused.message);
    else forward(asked, response, ui);
  });
  limitConnections(server, MAX_CONNECTIONS);
  server.on('connection', (socket) => socket.unref());
  const listener = await listen(server, HOST, port);
  server.unref();
  return listener;
}

function forward(
  asked: IncomingMessage,
  response: ServerResponse,
  { host, port }: { host: string; port: number },
): void {
  const headers = { ...asked.headers };
  for (const name of OF_ONE_CONNECTION) delete headers[name];
  const onward = request({ host, port, method: asked.method, path: asked.url, headers, agent: false });
  onward.on('response', (answer) => {
    const passed = { ...answer.headers };
    for (const name of OF_ONE_CONNECTION) delete passed[name];
    response.writeHead(answer.statusCode!, passed);
    pipeline(answer, response, () => undefined); // either side may leave
  });
  onward.on('error', () => {
    if (response.headersSent) response.destroy();
    else refuse(response, 502, 'the Web UI of the Temporal server does not answer');
  });
  response.once('close', () => onward.destroy());
  asked.pipe(onward);
}

const refuse = (response: ServerResponse, status: number, message: string): void => {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${message}\n`);
};
