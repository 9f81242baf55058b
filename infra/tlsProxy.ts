// Offers a Temporal server on loopback to other machines: over TLS, to requests with an API key. The server of Temporal's
// CLI has neither, so it never listens beyond loopback itself.
import { timingSafeEqual } from 'node:crypto';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  createSecureServer,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { GauntletError } from '../core/errors.js';
import { digestOf } from './httpServer.js';

export interface TlsProxyOptions {
  server: string; // host:port of the Temporal server
  address: string; // host:port at which to listen; port 0: any free one
  tls: Pick<SecureServerOptions, 'cert' | 'key' | 'ca' | 'requestCert'>;
  apiKeys: readonly string[];
  patienceMs?: number; // a connection without a request that has a key ends after so long; default 10 s
}

export interface TlsProxy {
  address: string;
  close(): Promise<void>;
}

const KEY_CHARACTERS = 32;
const PATIENCE_MS = 10_000;
const UNAVAILABLE = 14; // statuses of gRPC
const UNAUTHENTICATED = 16;

/** The keys of a file, one per line; lines that begin with # are comments. @throws GauntletError BAD_INPUT */
export function parseApiKeys(text: string): string[] {
  const keys = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (keys.length === 0) throw new GauntletError('BAD_INPUT', 'the file of API keys has no key');
  if (keys.some((key) => key.length < KEY_CHARACTERS || /\s/.test(key)))
    throw new GauntletError(
      'BAD_INPUT',
      `an API key has at least ${KEY_CHARACTERS} characters and no space: make one with openssl rand -hex 32`,
    );
  return keys;
}

/** @throws GauntletError BAD_INPUT if certificate, key or address cannot be used */
export async function startTlsProxy(options: TlsProxyOptions): Promise<TlsProxy> {
  const { server, address, tls, apiKeys, patienceMs = PATIENCE_MS } = options;
  const digests = apiKeys.map(digestOf);
  const isKnown = (authorization = ''): boolean => {
    const given = digestOf(authorization.replace(/^Bearer /i, ''));
    return digests.some((digest) => timingSafeEqual(digest, given));
  };
  const sessions = new Set<ServerHttp2Session>();
  const listener = secureServer(tls, patienceMs);
  listener.on('session', (session) => {
    let onward: ClientHttp2Session | undefined;
    const late = setTimeout(() => session.destroy(), patienceMs);
    sessions.add(session);
    session.on('error', () => {}); // the client went away
    session.once('close', () => {
      clearTimeout(late);
      sessions.delete(session);
      onward?.destroy(); // the server must not give a task to a worker that has gone
    });
    session.on('stream', (stream, headers) => {
      stream.on('error', () => {});
      if (!isKnown(headers.authorization)) return refuse(stream, UNAUTHENTICATED, 'a known API key is required');
      clearTimeout(late);
      if (onward === undefined || onward.closed || onward.destroyed) {
        onward = connect(`http://${server}`);
        onward.on('error', () => {}); // its requests fail too
      }
      forward(stream, headers, onward);
    });
  });
  const split = address.lastIndexOf(':');
  const host = address.slice(0, split);
  await new Promise<void>((resolve, reject) => {
    listener.once('error', ({ code }: NodeJS.ErrnoException) =>
      reject(
        new GauntletError(code === 'EADDRINUSE' ? 'PORT_TAKEN' : 'BAD_INPUT', `cannot listen at ${address} (${code})`),
      ),
    );
    listener.listen(Number(address.slice(split + 1)), host.replace(/^\[|\]$/g, ''), resolve);
  });
  return {
    address: `${host}:${(listener.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        listener.close(() => resolve());
        for (const session of sessions) session.destroy();
      }),
  };
}

function secureServer(tls: TlsProxyOptions['tls'], handshakeTimeout: number) {
  try {
    return createSecureServer({ ...tls, minVersion: 'TLSv1.2', handshakeTimeout });
  } catch (error) {
    throw new GauntletError('BAD_INPUT', `the certificate or its key cannot be used: ${(error as Error).message}`);
  }
}

/** An answer without a body: its status is in the headers. */
function refuse(stream: ServerHttp2Stream, status: number, message: string): void {
  if (isOver(stream) || stream.headersSent) return;
  const headers = { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': String(status) };
  stream.respond({ ...headers, 'grpc-message': message }, { endStream: true });
  stream.close(constants.NGHTTP2_NO_ERROR); // reads no request
}

/** Passes on a request and its answer, whose end (trailers) has the status of gRPC. */
function forward(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, onward: ClientHttp2Session): void {
  const { authorization: _, ':authority': __, ':scheme': ___, ...passed } = headers;
  const unavailable = (): void => refuse(stream, UNAVAILABLE, 'the Temporal server does not answer');
  let request: ClientHttp2Stream;
  try {
    request = onward.request(passed, { endStream: false });
  } catch {
    unavailable(); // its session has just ended
    return;
  }
  let trailers: IncomingHttpHeaders = {};
  request.on('trailers', (given) => {
    trailers = given;
  });
  request.on('response', (answer, flags) => {
    if (isOver(stream)) return;
    if (flags & constants.NGHTTP2_FLAG_END_STREAM) return stream.respond(answer, { endStream: true });
    stream.respond(answer, { waitForTrailers: true });
    request.pipe(stream);
  });
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  stream.pipe(request);
  stream.on('close', () => request.close(constants.NGHTTP2_CANCEL)); // the client cancelled it, or has its answer
  request.on('error', () => {
    if (stream.headersSent) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else unavailable();
  });
}

/** Answering such a stream throws. */
const isOver = (stream: ServerHttp2Stream): boolean => stream.destroyed || stream.closed;
