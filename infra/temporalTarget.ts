// The address and credentials of the Temporal server: from the environment, or from a profile of the Temporal CLI's
// configuration file. Never from both: the key of one could be sent to the address of the other.
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { GauntletError } from '../core/base/errors.js';

/** The settings for Connection and for NativeConnection. */
export interface ConnectionSettings {
  address: string; // host:port
  tls?: object | boolean | null;
  apiKey?: string;
  metadata?: Record<string, string>;
}

export interface TemporalTarget {
  connection: ConnectionSettings;
  namespace: string;
  from: string; // where the settings come from, such as 'TEMPORAL_ADDRESS' or 'profile prod'
}

type Env = Record<string, string | undefined>;

const FROM_FILE = ['TEMPORAL_PROFILE', 'TEMPORAL_CONFIG_FILE'];
/** Whether a variable names a server or its credentials. Those of the namespace and of the configuration file do not. */
const namesServer = (name: string): boolean =>
  /^TEMPORAL_(ADDRESS|API_KEY|TLS(_.*)?|GRPC_META_.*|CLIENT_(CERT|KEY).*)$/.test(name);

/**
 * Undefined if no server is configured; then the embedded one is used.
 * @throws GauntletError BAD_CONFIG naming what is mixed, missing or unreadable
 */
export function temporalTarget(env: Env): TemporalTarget | undefined {
  const set = Object.keys(env).filter((name) => env[name]);
  const named = set.filter(namesServer);
  const file = FROM_FILE.find((name) => set.includes(name));
  if (file !== undefined && named.length > 0) {
    throw new GauntletError(
      'BAD_CONFIG',
      `${named.join(', ')} is set beside ${file}: a server comes from the environment or from a profile, unset one of them`,
    );
  }
  if (file !== undefined) return fromProfile(env);
  if (named.length === 0) return undefined;
  if (!env.TEMPORAL_ADDRESS) {
    throw new GauntletError('BAD_CONFIG', `${named[0]} is set without TEMPORAL_ADDRESS: name the server too`);
  }
  return load(env, { disableFile: true }, 'TEMPORAL_ADDRESS');
}

function fromProfile(env: Env): TemporalTarget {
  const profile = env.TEMPORAL_PROFILE || 'default';
  const target = load(env, { profile, disableEnv: true, configFileStrict: true, ...source(env) }, `profile ${profile}`);
  return env.TEMPORAL_NAMESPACE ? { ...target, namespace: env.TEMPORAL_NAMESPACE } : target;
}

const source = ({ TEMPORAL_CONFIG_FILE: path }: Env): { configSource?: { path: string } } =>
  path ? { configSource: { path } } : {};

type LoadOptions = NonNullable<Parameters<typeof loadClientConnectConfig>[0]>;

function load(env: Env, options: LoadOptions, from: string): TemporalTarget {
  const defined = Object.fromEntries(Object.entries(env).filter(([, value]) => value)) as Record<string, string>;
  let loaded: ReturnType<typeof loadClientConnectConfig>;
  try {
    loaded = loadClientConnectConfig({ ...options, overrideEnvVars: defined });
  } catch (error) {
    const why = (error as Error).message.split('\n')[0];
    throw new GauntletError('BAD_CONFIG', `${from}: ${why}`, { cause: error });
  }
  const { connectionOptions, namespace } = loaded;
  const { address, tls, apiKey, metadata } = connectionOptions;
  if (!address) throw new GauntletError('BAD_CONFIG', `${from} names no address of a Temporal server`);
  return {
    connection: {
      address,
      ...(tls === undefined ? {} : { tls }),
      ...(typeof apiKey === 'string' ? { apiKey } : {}),
      ...(metadata === undefined ? {} : { metadata: metadata as Record<string, string> }),
    },
    namespace: namespace || 'default',
    from,
  };
}
