// `gauntlet config schema`: the JSON Schema of gauntlet.config.json, for editors. docs/gauntlet.config.schema.json is its output.
import type { Command } from 'commander';
import { z } from 'zod';
import { PRESET_NAMES } from '../../core/config/presets.js';
import { runConfigSchema } from '../../core/schema/config.js';
import { CONFIG_FILE } from '../input/config.js';
import { jsonOption } from '../input/options.js';
import { createOutput } from '../terminal/output.js';

export function configJsonSchema(): object {
  const schema = z.toJSONSchema(runConfigSchema, {
    io: 'input',
    override: ({ jsonSchema }) => void delete jsonSchema.default, // defaults depend on the preset
  });
  const preset = { type: 'string', enum: [...PRESET_NAMES, 'custom'], default: 'tiny' };
  const description = 'The configuration of a gauntlet run; docs/configuration.md explains the fields.';
  return { ...schema, description, properties: { $schema: { type: 'string' }, ...schema.properties, preset } };
}

export function addConfig(program: Command): void {
  program
    .command('config')
    .description(`work with ${CONFIG_FILE}`)
    .command('schema')
    .description(`print the JSON Schema of ${CONFIG_FILE}`)
    .addOption(jsonOption())
    .action(({ json }: { json?: boolean }) => {
      const schema = configJsonSchema();
      createOutput(json).result(schema, () => JSON.stringify(schema, null, 2));
    });
}
