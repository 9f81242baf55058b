// Optional encryption of all payloads: inputs, results, updates and details. The server and its UI see only ciphertext; only
// clients and workers have the keys.
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';
import { decodeText, NotText } from '../core/base/encoding.js';
import { GauntletError } from '../core/base/errors.js';

const { Payload: PayloadMessage } = proto.temporal.api.common.v1;
const ENCODING = 'binary/encrypted';
const KEY = /^[0-9a-f]{64}$/i;
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** AES-256-GCM. The first key encrypts and every key decrypts, so that keys can be rotated. */
export class EncryptionCodec implements PayloadCodec {
  private readonly byId: Map<string, Buffer>;
  private readonly current: string;

  constructor(keys: readonly Buffer[]) {
    this.byId = new Map(keys.map((key) => [createHash('sha256').update(key).digest('hex').slice(0, 16), key]));
    this.current = [...this.byId.keys()][0]!;
  }

  async encode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) => {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', this.byId.get(this.current)!, iv);
      const sealed = Buffer.concat([cipher.update(PayloadMessage.encode(payload).finish()), cipher.final()]);
      return {
        metadata: { encoding: Buffer.from(ENCODING), 'encryption-key-id': Buffer.from(this.current) },
        data: Buffer.concat([iv, cipher.getAuthTag(), sealed]),
      };
    });
  }

  /** Passes unencrypted payloads through unchanged. @throws GauntletError BAD_CONFIG, CORRUPT_ARTIFACT */
  async decode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) => {
      if (text(payload.metadata?.encoding) !== ENCODING) return payload;
      const id = text(payload.metadata?.['encryption-key-id']);
      const key = this.byId.get(id);
      if (!key)
        throw new GauntletError(
          'BAD_CONFIG',
          `a payload was encrypted with key ${id}, which GAUNTLET_CODEC_KEYS lacks`,
        );
      const data = Buffer.from(payload.data ?? []);
      try {
        const iv = data.subarray(0, IV_BYTES);
        // without authTagLength, a short tag would be accepted, which somebody could guess
        const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
        decipher.setAuthTag(data.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
        const open = [decipher.update(data.subarray(IV_BYTES + TAG_BYTES)), decipher.final()];
        return PayloadMessage.decode(Buffer.concat(open));
      } catch (cause) {
        throw new GauntletError('CORRUPT_ARTIFACT', 'an encrypted payload was modified or damaged', { cause });
      }
    });
  }
}

const text = (bytes: Uint8Array | null | undefined): string => Buffer.from(bytes ?? []).toString('utf8');

/**
 * Options for clients and workers. GAUNTLET_CODEC_KEYS names a file with one key of 64 hex digits per line, the current
 * one first. Without it, payloads are not encrypted.
 * @throws GauntletError BAD_CONFIG
 */
export function dataConverter(env: Record<string, string | undefined>): { payloadCodecs?: PayloadCodec[] } {
  const file = env.GAUNTLET_CODEC_KEYS;
  if (!file) return {};
  if (KEY.test(file.trim())) {
    throw new GauntletError('BAD_CONFIG', 'GAUNTLET_CODEC_KEYS is a key: put it into a file, and give the path');
  }
  let lines: string[];
  try {
    lines = decodeText(readFileSync(file))
      .split('\n')
      .map((line) => line.trim());
  } catch (error) {
    throw new GauntletError(
      'BAD_CONFIG',
      `GAUNTLET_CODEC_KEYS=${file}: ${error instanceof NotText ? error.message : `cannot be read (${(error as NodeJS.ErrnoException).code})`}`,
    );
  }
  const keys = lines.filter((line) => line !== '');
  const bad = keys.findIndex((key) => !KEY.test(key));
  if (keys.length === 0 || bad >= 0) {
    throw new GauntletError(
      'BAD_CONFIG',
      `GAUNTLET_CODEC_KEYS=${file}: ${keys.length === 0 ? 'no key' : `key ${bad + 1} is not 64 hex digits`}; make one with: openssl rand -hex 32`,
    );
  }
  return { payloadCodecs: [new EncryptionCodec(keys.map((key) => Buffer.from(key, 'hex')))] };
}
