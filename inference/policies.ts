// The models and adapters of a checkpoint, or of a base model, and the sandbox: what solving needs.
import { openRole } from '../chains/artifacts.js';
import { choosePolicies } from '../chains/run/prepareSolving.js';
import { type Deps, openScope } from '../chains/scope.js';
import type { Role, Stage } from '../core/schema/chain.js';
import type { RunConfig } from '../core/schema/config.js';
import type { SolveProblemsInput } from '../core/schema/solving.js';
import type { Adapter, Chat, Engine } from '../ml/engine/engine.js';
import type { Sandbox } from '../sandbox/sandbox.js';

export interface Policy {
  engine: Engine;
  chat: Chat;
  adapterOf(stage: Stage): Adapter | undefined; // undefined: the base model
}

export interface Solver extends Record<Role, Policy> {
  config: RunConfig;
  sandbox: Sandbox;
}

/** @throws GauntletError */
export async function openSolver(
  deps: Deps,
  input: Pick<SolveProblemsInput, 'checkpoint' | 'model' | 'templateArguments' | 'quantization'>,
): Promise<Solver> {
  const scope = openScope(deps);
  const chosen = await choosePolicies(scope, input, true);
  const policy = async (role: Role): Promise<Policy> => {
    const { engine, chat, adapter } = await openRole(scope, chosen.run, role);
    const { adapter: own, frozen = {} } = chosen[role];
    const imported = new Map<string, Adapter>();
    for (const digest of new Set([own, ...Object.values(frozen)]))
      if (digest !== undefined) imported.set(digest, await adapter(digest));
    return { engine, chat, adapterOf: (stage) => imported.get(frozen[stage] ?? own ?? '') };
  };
  const { config } = chosen;
  const sandbox = await deps.sandbox(config);
  return { config, sandbox, generator: await policy('generator'), discriminator: await policy('discriminator') };
}
