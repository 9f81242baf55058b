// Prepares a namespace: registers the search attributes and keeps histories longer than a day.
import { setTimeout } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import proto from '@temporalio/proto';
import { GauntletError } from '../core/base/errors.js';
import { SEARCH_ATTRIBUTES } from '../core/temporal/searchAttributes.js';
import { forClient } from './proxy.js';
import type { ConnectionSettings } from './temporalTarget.js';

/** A dev server deletes histories after 24 h by default. */
export const RETENTION_MS = 90 * 24 * 3600 * 1000;

const { IndexedValueType } = proto.temporal.api.enums.v1;
const TYPES = {
  Int: IndexedValueType.INDEXED_VALUE_TYPE_INT,
  Keyword: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
  Double: IndexedValueType.INDEXED_VALUE_TYPE_DOUBLE,
} as const;

/** The gRPC codes PERMISSION_DENIED and UNIMPLEMENTED, with which hosted servers answer requests that they do not offer. */
const HIDDEN: readonly (number | undefined)[] = [7, 12];

/** @throws if no server answers in time */
export async function connect(settings: ConnectionSettings, timeoutMs: number): Promise<Connection> {
  const { address } = settings;
  if (!/^[^:\s]+:\d+$/.test(address)) throw new GauntletError('SERVER_UNAVAILABLE', `${address} is not host:port`);
  return Connection.connect({ ...forClient(settings), connectTimeout: timeoutMs });
}

export async function prepareNamespace(
  connection: Connection,
  namespace: string,
  options: { retention: boolean; log: (line: string) => void },
): Promise<void> {
  const { namespaceInfo, config } = await describe(connection, namespace);
  const kept = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) * 1000;
  if (options.retention && kept < RETENTION_MS) {
    await connection.workflowService.updateNamespace({
      namespace: namespaceInfo?.name ?? namespace,
      config: { workflowExecutionRetentionTtl: msToTs(RETENTION_MS) },
    });
  }
  const listed = await connection.operatorService
    .listSearchAttributes({ namespace })
    .catch((error: { code?: number }) => {
      if (!HIDDEN.includes(error.code)) throw error;
      return undefined; // workers get the same answer and write no search attributes
    });
  if (listed === undefined) return options.log('this server does not show its search attributes: runs have none');
  const { customAttributes } = listed;
  const missing = Object.entries(SEARCH_ATTRIBUTES).filter(([name]) => customAttributes?.[name] === undefined);
  if (missing.length === 0) return;
  try {
    const searchAttributes = Object.fromEntries(missing.map(([name, type]) => [name, TYPES[type]]));
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
    options.log(`registered the search attributes ${missing.map(([name]) => name).join(', ')}`);
  } catch (error) {
    const why = (error as { details?: string }).details ?? String(error);
    const wanted = missing.map(([name, type]) => `${name}=${type}`).join(', ');
    throw new GauntletError(
      'SERVER_UNAVAILABLE',
      `cannot register search attributes (${why}): ask an administrator to add ${wanted}`,
    );
  }
}

/** Describes a namespace. Waits for it, since a new dev server accepts connections before its namespace exists. */
async function describe(connection: Connection, namespace: string) {
  const NOT_FOUND = 5; // gRPC
  for (let attempt = 0; ; attempt++) {
    try {
      return await connection.workflowService.describeNamespace({ namespace });
    } catch (error) {
      if ((error as { code?: number }).code !== NOT_FOUND) throw error;
      if (attempt === 20) {
        throw new GauntletError('SERVER_UNAVAILABLE', `the Temporal server has no namespace ${namespace}`, {
          cause: error,
        });
      }
      await setTimeout(100);
    }
  }
}
