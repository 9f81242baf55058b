// Runs one section. main.ts starts it as a process, so that a crash or a full card ends only that section.
import { check } from './check.js';
import { generate, train } from './engine.js';
import { record, type SectionOptions } from './measure.js';
import { profile } from './profile.js';
import type { SectionName } from './results.js';
import { step } from './step.js';

const SECTIONS = { check, step, generate, train, profile };

const [, , name, options] = process.argv;
await SECTIONS[name as Exclude<SectionName, 'torch'>](record, JSON.parse(options!) as SectionOptions);
