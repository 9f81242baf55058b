// TensorBoard: the numbers of a run as scalars, in one event file per role and split, so that a chart shows them together. An
// event file is a TFRecord file of protobuf messages.
import { stripVTControlCharacters } from 'node:util';
import protobuf from 'protobufjs';
import { charts } from '../../dashboard/data/charts.js';
import { readResult } from '../../store/runs.js';
import { chainText } from '../terminal/chainText.js';
import type { ExportedFiles, ExportedRun } from './exporter.js';
import { frame } from './tfRecord.js';
import { stepTimes } from './times.js';

/** The fields that this export writes, with the numbers of event.proto, summary.proto and tensor.proto of TensorBoard. */
const SCHEMA = `
syntax = "proto2";
message Event {
  optional double wallTime = 1;
  optional int64 step = 2;
  optional string fileVersion = 3;
  optional Summary summary = 5;
}
message Summary { repeated SummaryValue value = 1; }
message SummaryValue {
  optional string tag = 1;
  optional float simpleValue = 2;
  optional Tensor tensor = 8;
  optional Metadata metadata = 9;
}
message Metadata { optional Plugin pluginData = 1; }
message Plugin { optional string pluginName = 1; }
message Tensor {
  optional int32 dtype = 1;
  optional Shape tensorShape = 2;
  repeated bytes stringVal = 8;
}
message Shape {}
`;
const STRING = 7; // DataType.DT_STRING
const Event = protobuf.parse(SCHEMA).root.lookupType('Event');

interface SummaryValue {
  tag: string;
  simpleValue?: number;
  tensor?: object;
  metadata?: object;
}

export async function* eventFiles(run: ExportedRun): ExportedFiles {
  const { id, store, records } = run;
  const timeOf = stepTimes(run);
  const files = new Map<string, Uint8Array[]>();
  const add = (file: string, step: number, value: SummaryValue): void => {
    const events = files.get(file) ?? [encode({ wallTime: timeOf(0), fileVersion: 'brain.Event:2' })];
    files.set(file, events);
    events.push(encode({ wallTime: timeOf(step), step, summary: { value: [value] } }));
  };
  for (const { id: chart, lines } of charts(records.metrics))
    for (const { name, points } of lines)
      for (const { step, value } of points) add(name, step, { tag: chart.replace('.', '/'), simpleValue: value });
  const { chain } = await readResult(store, id);
  if (chain) {
    const last = Math.max(0, ...records.metrics.map(({ step }) => step));
    add('test', last, { tag: 'example', ...asText(codeBlock(stripVTControlCharacters(chainText(chain)))) });
  }
  for (const [name, events] of files) yield [`${name}/events.out.tfevents.gauntlet`, Buffer.concat(events)];
}

const encode = (event: object): Uint8Array => frame(Event.encode(event).finish());

const asText = (text: string): Pick<SummaryValue, 'tensor' | 'metadata'> => ({
  tensor: { dtype: STRING, tensorShape: {}, stringVal: [Buffer.from(text)] },
  metadata: { pluginData: { pluginName: 'text' } },
});

/** TensorBoard renders texts as Markdown. Lines indented by four spaces are a code block, whatever they contain. */
const codeBlock = (text: string): string => text.replace(/^/gm, '    ');
